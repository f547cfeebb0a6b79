/** Content decoding (gzip, deflate, br, zstd): a pure function, but of a library that belongs to the rim. */
export type DecodeContent = (body: Uint8Array, contentEncoding: string, limits: DecodeLimits) => DecodedContent

export interface DecodeLimits {
  /** Decoded bytes kept; the rest is cut and the content marked. */
  readonly decodedBytesMax: number
  /** Decoded bytes per byte received; what passes it is cut and the content marked. */
  readonly ratioMax: number
}

export interface DecodedContent {
  readonly bytes: Uint8Array
  /** Cut by a limit, or the stream ended early. */
  readonly truncated: boolean
  /** The bytes are not what the header says; `bytes` holds what could be read, or the body as it is. */
  readonly trouble?: 'http.decode'
}
