/** "Did you mean": the known name that a misspelt one stands for. */

/**
 * The name that is nearest to a misspelt one, or undefined where none is near: at most a third of its letters differ.
 *
 * Case, `-` and `_` do not count. A name that begins with the other, or ends so, is near too (`delayMs` and `delay`).
 * Cost: O(names · length²); for messages only.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const given = plain(name)
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const candidate of names) {
    const distance = distanceOf(given, plain(candidate))
    if (distance >= least) continue
    nearest = candidate
    least = distance
  }
  return nearest ?? names.find((candidate) => isPartOf(given, plain(candidate)))
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

function isPartOf(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return short.length >= 4 && (long.startsWith(short) || long.endsWith(short))
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function distanceOf(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i])
  for (let j = 0; j <= b.length; j += 1) rows[0][j] = j
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? rows[i - 2][j - 2] + 1 : replaced
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced, swapped)
    }
  }
  return rows[a.length][b.length]
}
