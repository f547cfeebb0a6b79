/** Where the events of a shard are, below the shard's directory. The one place that knows. */
export function logDirectoryOf(directory: string): string {
  return `${directory}/log`
}
