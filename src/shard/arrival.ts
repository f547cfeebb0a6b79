/** What arrives in a shard's inbox: an observation, or an answer that must be stored before it is one. */
import type { Claim, RobotsClaim } from '../core/claim.ts'
import type {
  ControlObservation,
  LookupObservation,
  RobotsObservation,
  SeedsObservation,
  Trouble,
} from '../core/observation.ts'
import type { FetchTiming } from '../env/web.ts'
import type { ReadAnswer } from './reading.ts'

export interface PageArrival {
  readonly kind: 'page'
  readonly claim: Claim
  readonly address: string
  readonly timing: FetchTiming
  readonly result: ({ readonly kind: 'answer' } & ReadAnswer) | Trouble
}

export interface RobotsArrival {
  readonly kind: 'robots'
  readonly claim: RobotsClaim
  readonly totalMs: number
  readonly observation: RobotsObservation
}

export interface LookupArrival {
  readonly kind: 'lookup'
  readonly host: number
  readonly observation: LookupObservation
}

/** From the owner of the crawl; `done` is called when its record is synced. */
export interface OwnerArrival {
  readonly kind: 'owner'
  readonly observation: SeedsObservation | ControlObservation
  readonly done: () => void
}

export type Arrival = PageArrival | RobotsArrival | LookupArrival | OwnerArrival
