/** Header fields of an answer, in either of the shapes that HTTP clients give them. */

export type PageHeaders =
  | readonly (readonly [string, string])[]
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** All values of a field in the order received; names are compared without case. */
export function headerValues(headers: PageHeaders, name: string): string[] {
  const values: string[] = []
  if (isList(headers)) {
    for (const field of headers) if (isNamed(field[0], name)) values.push(field[1])
    return values
  }
  for (const field in headers) {
    const value = isNamed(field, name) ? headers[field] : undefined
    if (typeof value === 'string') values.push(value)
    else if (value !== undefined) values.push(...value)
  }
  return values
}

function isNamed(field: string, name: string): boolean {
  return field.length === name.length && field.toLowerCase() === name
}

function isList(headers: PageHeaders): headers is readonly (readonly [string, string])[] {
  return Array.isArray(headers)
}
