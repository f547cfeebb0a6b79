/** Pages as nobody should write them: handwritten ones, and fast-check material for more. */
import fc from 'fast-check'

/** Each is a rule of the tokenizer or of the tree builder that decides whether a link is one. */
export const TRICKY: readonly string[] = [
  '<a href=one/>x</a><a href=two>',
  '<a href="cut by the end of the page',
  "<a title='<a href=fake>' href='real'>",
  '<p title="> <a href=fake>"><a href=real>',
  '<p x=\'"\' y=">"><a href=real>',
  '<p =">" <a href=attribute><a href=real>',
  '<p a= = "b"><a href=real>',
  '<a / href = "one" / rel=x><a/href="two"/>',
  '</a href="no"><a href="yes"></ a href="no"><//a><a href=z>',
  '<!--><a href=one>--><!---><a href=two><!-- --!><a href=three><!-- -- ><a href=no>',
  '<!-- <!-- --><a href=one><!--<!-><a href=no>--><!----!><a href=two><!---!><a href=no>-->',
  '<!doctype html ">"><a href=one><?php <a href=no> ?><a href=two><!x <a href=no>>',
  '<![CDATA[ <a href=one> ]]><svg><![CDATA[ <a href=no> ]]><a href=two /></svg>',
  '<script><!-- <script> </script> <a href=no> --> </script><a href=yes>',
  '<script><!--></script><a href=one><script><!-- <script --></script><a href=two>',
  '<script><!-- <script> --></script><a href=one></script >x',
  '<script>a</script x="</script><a href=no>"><a href=yes>',
  '<title><a href=no></titl></title/><a href=yes>',
  '<textarea><a href=no></textarea\n><a href=yes><style></styles><a href=no></style><a href=z>',
  '<xmp><a href=no></xmp><iframe src=f><a href=no></iframe><noembed><a href=no></noembed><a href=yes>',
  '<noscript><a href=one></noscript><head><noscript><a href=two></noscript>',
  '<plaintext><a href=no></plaintext><a href=no>',
  '<template><a href=no><template></template><a href=no></template></template><a href=yes>',
  '<template><base href=/no/></template><base target=x><base href=/b/><base href=/c/><a href=x>',
  '<svg><title><a href=one></title><style><a href=two></style><script><a href=three></script></svg>',
  '<svg><a xlink:href=one></a><a href=two xlink:href=no></a><desc><title><a href=no></title></desc>',
  '<svg><foreignObject><style><a href=no></style><a href=one></foreignObject><style><a href=two>',
  '<svg><p><style><a href=no></style><svg></p><title><a href=no></title>',
  '<math><mi><style><a href=no></style></mi><style><a href=one></style><mi><mglyph><style><a href=two>',
  '<math><annotation-xml encoding=text/html><style><a href=no></style></annotation-xml><style><a>',
  '<svg><font><style><a href=one></style></font><font size=1><style><a href=no></style>',
  '<div><svg><g></div><style><a href=no></style><a href=one>',
  '<table><a href=one><tr><a href=two><td><a href=three></table><a href=four>',
  '<a href="?a=1&amp;b=2&copy=3&copy;&#x26;&notit;&#35;x">',
  '<A HREF=\'one\' href="two"><aREA Href=three><a\nhref\n=\nfour\n>',
  '<a hre\0f=no href="a\0b"><a\0 href=no><a href="\u{1f600}é">',
  '<a href=" \n x y \t"><a href="a\nb"><a href=" #x"><a href="z #x">',
  '<link rel=next href=n><link rel="stylesheet alternate" href=no><link rel=search type=application/x href=no>',
]

const text = fc.constantFrom(
  ...['x', ' ', '\n', '>', '"', "'", '&amp;', '-->', ']]>', '<', '</', '<!', '--', '/', '=', '\0', 'é'],
)

const tagName = fc.constantFrom(
  ...[
    'a',
    'A',
    'a',
    'a',
    'area',
    'p',
    'div',
    'span',
    'b',
    'table',
    'td',
    'tr',
    'script',
    'style',
    'title',
    'textarea',
    'xmp',
  ],
  ...[
    'iframe',
    'noscript',
    'template',
    'svg',
    'math',
    'foreignObject',
    'desc',
    'mi',
    'mglyph',
    'annotation-xml',
    'font',
    'g',
  ],
  ...['br', 'img', 'link', 'base', 'meta', 'li', 'ul', 'aa', 'titles'],
)

const value = fc.constantFrom(
  ...[
    'one',
    '/two',
    '../three',
    '?q',
    '#h',
    'x&amp;y',
    'http://b.test/z',
    '',
    'a b',
    'a/b',
    "it's",
    'text/html',
    'next',
    '<a',
  ],
)

const attribute = fc
  .tuple(
    fc.constantFrom('href', 'HREF', 'src', 'rel', 'xlink:href', 'title', 'size', 'encoding', 'href ', '"', '=', 'é'),
    fc.constantFrom('=', ' = ', '=\n', '', '/', '=='),
    fc.constantFrom('"', "'", ''),
    value,
  )
  .map(([name, equals, quote, content]) => name + equals + quote + content + quote)

const tag = fc
  .tuple(
    fc.constantFrom('<', '<', '<', '</'),
    tagName,
    fc.array(attribute, { maxLength: 3 }),
    fc.constantFrom('>', '>', '/>', ' >', ''),
  )
  .map(([open, name, attributes, close]) => open + [name, ...attributes].join(' ') + close)

const declaration = fc.constantFrom(
  '<!--',
  '-->',
  '--!>',
  '<!-->',
  '<![CDATA[',
  ']]>',
  '<!doctype html>',
  '<?x>',
  '</script>',
  '</>',
)

/** Tag soup. */
export const soup = fc
  .array(
    fc.oneof({ weight: 6, arbitrary: tag }, { weight: 2, arbitrary: text }, { weight: 1, arbitrary: declaration }),
    {
      maxLength: 14,
    },
  )
  .map((pieces) => pieces.join(''))
