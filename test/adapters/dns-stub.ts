/** A name server on loopback that says what a test tells it to. UDP, one question per message. */

import { createSocket } from 'node:dgram'
import { isIPv4 } from 'node:net'

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }
const RCODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const
const CNAME = 5

/** Addresses (or `cname:NAME`) with one time to live; an error; or no reply at all. */
export type Reply = { readonly ttl: number; readonly records: readonly string[] } | keyof typeof RCODES | 'silence'

export interface DnsStub {
  readonly server: string
  /** `NAME TYPE` of each question, in order. */
  readonly questions: string[]
  close(): Promise<void>
}

export async function serveDns(answer: (name: string, type: 'A' | 'AAAA') => Reply): Promise<DnsStub> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, { address, port }) => {
    const { name, end } = readName(query, 12)
    const type = TYPES[query.readUInt16BE(end)]
    questions.push(`${name} ${type}`)
    const reply = answer(name, type)
    if (reply !== 'silence') socket.send(message(query.subarray(0, end + 4), name, type, reply), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const close = () => new Promise<void>((resolve) => socket.close(resolve))
  return { server: `127.0.0.1:${socket.address().port}`, questions, close }
}

function message(question: Buffer, name: string, type: 'A' | 'AAAA', reply: Exclude<Reply, 'silence'>): Buffer {
  const header = Buffer.alloc(12)
  question.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (typeof reply === 'string' ? RCODES[reply] : 0), 2)
  header.writeUInt16BE(1, 4)
  if (typeof reply === 'string') return Buffer.concat([header, question.subarray(12)])
  let owner = name
  const records = reply.records.flatMap((record) => {
    if (record.startsWith('cname:')) {
      const target = record.slice(6)
      const line = resource(owner, CNAME, reply.ttl, writeName(target))
      owner = target
      return [line]
    }
    const data = isIPv4(record) ? Buffer.from(record.split('.').map(Number)) : ipv6Bytes(record)
    return isIPv4(record) === (type === 'A') ? [resource(owner, type === 'A' ? 1 : 28, reply.ttl, data)] : []
  })
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question.subarray(12), ...records])
}

function resource(owner: string, type: number, ttl: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt32BE(ttl, 4)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([writeName(owner), fixed, data])
}

function readName(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  for (; bytes[at] !== 0; at += bytes[at] + 1) labels.push(bytes.toString('latin1', at + 1, at + 1 + bytes[at]))
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

// Enough for the tests: one `::` or none, no dotted tail.
function ipv6Bytes(address: string): Buffer {
  const [head, tail = ''] = address.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
  return Buffer.from(groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]))
}
