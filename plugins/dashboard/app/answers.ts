/** What the server answers, as far as the page reads it. */

export type Status = 'ok' | 'error' | 'unset' | 'running'
export type Role = 'owner' | 'member' | 'viewer'
export type DataType = 'numeric' | 'categorical' | 'boolean'
export type ScoreValue = number | string | boolean

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
}

export interface ScoreSummary {
  readonly scoreId: string
  readonly dataType: DataType
  readonly value: ScoreValue
  readonly evaluatorId: string | null
}

export interface TraceSummary {
  readonly id: string
  readonly name: string
  readonly status: Status
  readonly environment: string | null
  readonly startedAt: string
  readonly endedAt: string | null
  readonly durationMs: number | null
  readonly provider: string | null
  readonly model: string | null
  readonly sessionId: string | null
  readonly userId: string | null
  readonly tags: readonly string[]
  readonly usage: Usage
  readonly costUsd: number | null
  readonly spanCount: number
  readonly errorCount: number
  readonly estimatedBytes: number
  readonly ingestedAt: string | null
  readonly scores: Readonly<Record<string, ScoreSummary>>
}

export interface TracePage {
  readonly traces: readonly TraceSummary[]
  readonly nextCursor: string | null
  readonly prevCursor: string | null
  readonly pageSize: number
  /** Of a search by words: an excerpt of each trace, by its id. */
  readonly excerpts?: Readonly<Record<string, Excerpt>>
  readonly search?: {
    /** How far was searched, if not to the end of the list. */
    readonly reached: string | null
    /** How far the index goes, unless it has all. */
    readonly backTo: string | null
    readonly isFilled: boolean
    /** Writes that are not in it yet. */
    readonly waiting: number
  }
}

/** Some of a text, in one line, and where in it words were found. */
export interface Excerpt {
  readonly text: string
  readonly marks: readonly (readonly [number, number])[]
}

/** A span without its texts, but with their sizes in bytes. */
export interface OutlineSpan {
  readonly id: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: string
  readonly status: Status
  readonly startedAt: string
  readonly endedAt: string
  readonly durationMs: number
  readonly provider: string | null
  readonly model: string | null
  readonly usage: Usage | null
  readonly costUsd: number | null
  readonly inputBytes: number
  readonly outputBytes: number
  readonly attributesBytes: number
  readonly eventCount: number
}

export interface Score {
  readonly id: string
  readonly traceId: string
  readonly spanId: string | null
  readonly name: string
  readonly dataType: DataType
  readonly value: ScoreValue
  readonly comment: string | null
  readonly source: 'api' | 'annotation' | 'eval'
  readonly evaluatorId: string | null
  readonly runId: string | null
  readonly createdAt: string
  /** Who wrote it on the dashboard, and whether that is the visitor. */
  readonly author?: string | null
  readonly own?: boolean
}

export interface OutlineTrace extends TraceSummary {
  readonly inputBytes: number
  readonly outputBytes: number
  readonly metadata: Readonly<Record<string, unknown>>
  readonly metadataUpdatedAt: string | null
}

export interface Outline {
  readonly version: string | number
  readonly trace: OutlineTrace
  readonly spans: readonly OutlineSpan[]
  readonly scores: readonly Score[]
}

export interface Project {
  readonly slug: string
  readonly name: string
  readonly role: Role
  /** Whether its traces can be searched by words. */
  readonly search: boolean
}

export interface Session {
  readonly user: {
    readonly id: number
    readonly email: string
    readonly name: string
    readonly hasPassword?: boolean
  } | null
  readonly projects: readonly Project[]
  readonly signIn: {
    readonly password?: boolean
    readonly oidc?: boolean
    /** Nothing else but links. */
    readonly onlyOidc?: boolean
    readonly proxy?: boolean
    readonly signOutUrl?: string | null
  }
}

export interface Facets {
  readonly statuses: readonly string[]
  readonly models: readonly string[]
  readonly environments: readonly string[]
  readonly names: readonly string[]
}

export interface ScoreName {
  readonly name: string
  readonly dataType: DataType
  readonly count: number
}

export interface FacetCount {
  readonly value: string | null
  readonly traces: number
}

export interface FacetCounts {
  readonly statuses: readonly FacetCount[]
  readonly models: readonly FacetCount[]
  readonly environments: readonly FacetCount[]
  readonly names: readonly FacetCount[]
  readonly countedFrom: string | null
}
