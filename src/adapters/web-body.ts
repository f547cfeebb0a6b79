/** A length announced by the server is believed up to here when memory is set aside for it. */
const EXPECTED_BYTES_MAX = 1 << 20
/** Without a length: room to begin with; doubled as needed. */
const FIRST_ROOM_BYTES = 16384
/** A chunk may be handed on with its buffer while that is at most this much larger; pooled ones are far beyond it. */
const PINNED_RATIO_MAX = 1.25

const EMPTY = new Uint8Array(0)

/**
 * Gathers the chunks of one body and gives it out in one piece.
 *
 * A body that came as one chunk is handed on as it is: Node reads each chunk into memory of its own, so all that is
 * kept beside the body is the head before it. Chunks of a longer one are copied as they come: kept until the end, they
 * would outlive the young generation and cost full collections; small ones would cost many times their bytes.
 *
 * Invariant: memory stays within twice the bytes received plus 1 MiB, and an answer of many tiny chunks costs no more
 * than one of few.
 */
export class BodyCollector {
  bytes = 0
  /** Announced length of the whole body; 0 = unknown. */
  expectedBytes = 0
  private only: Buffer | null = null
  private room: Uint8Array = EMPTY

  push(chunk: Buffer): void {
    if (this.bytes === 0) {
      this.only = chunk
      this.bytes = chunk.length
      return
    }
    if (this.only !== null) this.copyFirst(this.only, chunk.length)
    this.only = null
    this.append(chunk)
  }

  /** The body in memory nobody else uses, which ends where the body ends. */
  take(): Uint8Array {
    const { only, room, bytes } = this
    // undici keeps the last request of a connection for a while: it must not keep its body.
    this.only = null
    this.room = EMPTY
    if (bytes === 0) return EMPTY
    if (only !== null && only.buffer.byteLength <= bytes * PINNED_RATIO_MAX) {
      return new Uint8Array(only.buffer, only.byteOffset, bytes)
    }
    return room.length === bytes ? room : newRoom(only ?? room.subarray(0, bytes), bytes)
  }

  private copyFirst(first: Buffer, nextBytes: number): void {
    const plannedBytes = this.expectedBytes > 0 ? Math.min(this.expectedBytes, EXPECTED_BYTES_MAX) : FIRST_ROOM_BYTES
    this.room = newRoom(first, Math.max(first.length + nextBytes, plannedBytes))
  }

  private append(chunk: Buffer): void {
    const neededBytes = this.bytes + chunk.length
    if (neededBytes > this.room.length) this.room = newRoom(this.room, Math.max(neededBytes, 2 * this.room.length))
    this.room.set(chunk, this.bytes)
    this.bytes = neededBytes
  }
}

// Not zeroed: all of it is written before it is given out.
function newRoom(start: Uint8Array, sizeBytes: number): Uint8Array {
  const room = new Uint8Array(Buffer.allocUnsafeSlow(sizeBytes).buffer)
  room.set(start)
  return room
}
