/** Where the logs of a shard are. */

/** Directory of the log of events. */
export function eventsDirectoryOf(shardDirectory: string): string {
  return `${shardDirectory}/log`
}
