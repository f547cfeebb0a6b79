/** What the TLS connections of one `Web` share: certificates to trust, and sessions to resume. */
import { createSecureContext, type SecureContext } from 'node:tls'

/** What all TLS connections of one `Web` share. */
export interface TlsSettings {
  readonly context: SecureContext
  /** Certificates are not checked. */
  readonly insecure: boolean
  /** The session to resume with an origin: it saves a server's signature and a client's check of the chain. */
  sessionOf(origin: string): Buffer | undefined
  keepSession(origin: string, session: Buffer): void
}

/**
 * One context for all connections (building one each costs more than the handshake's arithmetic) and a bounded store
 * of sessions, the longest unused forgotten first.
 *
 * @param ca           PEM of authorities to trust instead of Node's own; undefined = Node's
 * @param sessionsMax  sessions kept, 2 to 4 KB each
 */
export function createTlsSettings(insecure: boolean, ca: string | undefined, sessionsMax: number): TlsSettings {
  const sessions = new Map<string, Buffer>()
  return {
    context: createSecureContext(ca === undefined ? {} : { ca }),
    insecure,
    // A ticket of TLS 1.3 is for one use (RFC 8446 C.4); the server sends the next ones.
    sessionOf: (origin) => {
      const session = sessions.get(origin)
      sessions.delete(origin)
      return session
    },
    keepSession: (origin, session) => {
      sessions.delete(origin)
      sessions.set(origin, session)
      if (sessions.size > sessionsMax) sessions.delete(sessions.keys().next().value as string)
    },
  }
}
