import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { detectCharset } from '../../src/html/charset.ts'
import { decodeText } from '../../src/html/decode.ts'
import { encodeQueryOf } from '../../src/html/encode.ts'
import { encodingOf, LABELS } from '../../src/html/labels.ts'
import { mimeTypeOf } from '../../src/html/mime.ts'
import { prescan } from '../../src/html/prescan.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

function charsetOf(body: string, contentType?: string): string {
  const { encoding, source } = detectCharset(Buffer.from(body, 'latin1'), contentType)
  return `${encoding} by ${source}`
}

test('there are the 228 labels of the standard, and the runtime agrees on all but those it does not know', () => {
  assert.equal(LABELS.length, 228)
  for (const label of LABELS) {
    const encoding = encodingOf(label)
    if (encoding !== 'replacement') assert.equal(new TextDecoder(label).encoding, encoding)
  }
  assert.equal(encodingOf(' \tUTF8\n'), 'utf-8')
  assert.equal(encodingOf('utf-7'), undefined)
})

test('a mark counts more than a header, a header more than a declaration, a declaration more than a guess', () => {
  assert.equal(charsetOf('\xef\xbb\xbf<meta charset=koi8-r>', 'text/html; charset=big5'), 'utf-8 by bom')
  assert.equal(charsetOf('\xff\xfea\0', 'text/html; charset=big5'), 'utf-16le by bom')
  assert.equal(charsetOf('<meta charset=koi8-r>', 'text/html; charset=big5'), 'big5 by header')
  assert.equal(charsetOf('<meta charset=koi8-r>', 'text/html; charset=unknown'), 'koi8-r by prescan')
  assert.equal(charsetOf('\xe9', 'text/html'), 'windows-1252 by guess')
  assert.equal(charsetOf('\xc3\xa9'), 'utf-8 by guess')
})

test('a body cut within a character is still UTF-8, but not for its last byte alone', () => {
  assert.equal(charsetOf('\xc3\xa9\xf0\x9f\x98'), 'utf-8 by guess')
  assert.equal(charsetOf('x\xe4\xb8\xad\xe9'), 'utf-8 by guess')
  assert.equal(charsetOf('\xc3\xa9\xff'), 'windows-1252 by guess')
  assert.equal(charsetOf('caf\xe9'), 'windows-1252 by guess')
})

test('the prescan follows the standard', () => {
  const cases: [string, string | undefined][] = [
    ['<meta charset=koi8-r>', 'koi8-r'],
    ["<META\n/ x=y CHARSET = 'KOI8-R' >", 'koi8-r'],
    ['<meta charset="koi8-r"', undefined], // cut by the end of the bytes
    ['<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', 'koi8-r'],
    ['<meta content="text/html; charset = \'koi8-r\' ;" http-equiv=content-type>', 'koi8-r'],
    ['<meta content="text/html; charset=koi8-r">', undefined], // no pragma
    ['<meta charset=unknown><meta charset=koi8-r>', 'koi8-r'],
    ['<meta charset=big5 charset=koi8-r>', 'big5'],
    ['<!-- <meta charset=big5> --><meta charset=koi8-r>', 'koi8-r'],
    ['<!--><meta charset=koi8-r>', 'koi8-r'],
    ['<p title="<meta charset=big5>"><meta charset=koi8-r>', 'koi8-r'],
    ['</p title="<meta charset=big5>"><!x <meta charset=big5>><?x <meta charset=big5>><meta charset=koi8-r>', 'koi8-r'],
    ['<script>"<meta charset=big5>"</script>', 'big5'], // it knows no scripts
    ['<metax charset=big5><meta charset=koi8-r>', 'koi8-r'],
    ['<meta charset=utf-16le>', 'utf-8'],
    ['<meta charset=x-user-defined>', 'windows-1252'],
    [`${' '.repeat(1010)}<meta charset=koi8-r>`, undefined],
    ['<?xml version="1.0" encoding="koi8-r"?><x>', 'koi8-r'],
    ['<?xml version="1.0" encoding = \'utf-16\'?>', 'utf-8'],
    [' <?xml version="1.0" encoding="koi8-r"?>', undefined],
    ['<?xml encoding="big5"?><meta charset=koi8-r>', 'koi8-r'],
    ['<\0?\0x\0m\0', 'utf-16le'],
  ]
  for (const [body, encoding] of cases) assert.equal(prescan(Buffer.from(body, 'latin1')), encoding, body)
})

test('the prescan ends for any bytes', () => {
  const pieces = fc.constantFrom(
    '<',
    'meta',
    '<meta ',
    'charset',
    '=',
    '"',
    "'",
    '>',
    '/',
    '<!--',
    '-->',
    '</',
    '<?',
    ' ',
    'big5',
    'x',
  )
  fc.assert(fc.property(fc.array(pieces, { maxLength: 30 }), (all) => void prescan(Buffer.from(all.join('')))))
})

test('a Content-Type gives its last valid type and the first of equal parameters', () => {
  assert.deepEqual(mimeTypeOf(' Text/HTML ;x=1;Charset="a\\"b" ; charset=c'), { essence: 'text/html', charset: 'a"b' })
  assert.deepEqual(mimeTypeOf('text/plain; charset=x, text/html'), { essence: 'text/html', charset: undefined })
  assert.equal(mimeTypeOf('html'), undefined)
})

test('the five encodings that the runtime has wrong are decoded by the standard', () => {
  const cases: [string, string, string][] = [
    ['euc-kr', '81 41 c6 52 a2 e6 b0 a1', '갂힣€가'],
    ['euc-kr', 'c9 a1 41 81', '\ufffdA\ufffd'],
    ['big5', '87 40 fe fe 88 62 a4 40', '䏰秔Ê\u0304一'],
    ['big5', '81 40 80 3c', '\ufffd@\ufffd<'],
    ['shift_jis', '82 a0 80 1a 7f b1 82 3c', 'あ\x80\x1a\x7fｱ\ufffd<'],
    ['euc-jp', '8e b1 8f b0 a1 a4 a2 8f f3 a1', 'ｱ丂あ\ufffd'],
    ['euc-jp', '8e e0 41 80', '\ufffdA\ufffd'],
    ['iso-2022-jp', '1b 24 42 24 22 1b 28 4a 5c 7e 1b 28 42 5c', 'あ¥‾\\'],
    ['iso-2022-jp', '1b 28 42 1b 28 42 41 1b 24 28 44', '\ufffdA\ufffd$(D'],
    ['replacement', '3c 61', '\ufffd'],
    ['windows-1252', '80 93 81', '€“\x81'],
    ['gbk', '80 e9 46', '€镕'],
  ]
  for (const [encoding, bytes, text] of cases)
    assert.equal(decodeText(hex(bytes), encoding), text, `${encoding} ${bytes}`)
})

test('what an encoding writes it reads again', () => {
  const encodings = [
    'big5',
    'euc-kr',
    'shift_jis',
    'euc-jp',
    'iso-2022-jp',
    'gbk',
    'gb18030',
    'windows-1251',
    'koi8-u',
    'x-user-defined',
  ]
  const letters = fc.string({
    unit: fc.constantFrom(...'aé中国あア海가힣Пя€\u{20000}\uf780−'),
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(fc.constantFrom(...encodings), letters, (encoding, text) => {
      const query = encodeQueryOf(`?${text}`, encoding).slice(1)
      const bytes = Buffer.from(
        query.replace(/%([0-9A-F]{2})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16))),
        'latin1',
      )
      const read = decodeText(bytes, encoding).replace(/&#(\d+);/g, (_, digits) => String.fromCodePoint(Number(digits)))
      assert.equal(read.replaceAll('－', '−'), text)
    }),
    { numRuns: 1000 },
  )
})

test('only the query is written in the encoding of its page', () => {
  assert.equal(encodeQueryOf('/П?q=П#П', 'windows-1251'), '/П?q=%CF#П')
  assert.equal(encodeQueryOf('/П#?П', 'windows-1251'), '/П#?П')
  assert.equal(encodeQueryOf('?q=中', 'windows-1251'), '?q=%26%2320013%3B')
  assert.equal(encodeQueryOf('?q=П', 'utf-16le'), '?q=П')
})
