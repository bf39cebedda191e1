/** The guide's pages, in reading order. Each page shows sections of the chapters in `plugins/docs/chapters`. */

export interface GuidePage {
  /** The last part of the page's address below `/docs`; empty for `/docs` itself. */
  readonly name: string
  readonly title: string
  /** The ids of the page's sections, in order. */
  readonly sections: readonly string[]
}

export interface GuidePart {
  readonly title: string
  readonly pages: readonly GuidePage[]
}

/** The page that shows the API reference below its sections. */
export const REFERENCE = 'reference'

export const PARTS: readonly GuidePart[] = [
  {
    title: 'Start',
    pages: [
      { name: '', title: 'First trace', sections: ['start', 'choose', 'key'] },
      { name: 'install', title: 'Install', sections: ['install'] }
    ]
  },
  {
    title: 'Record',
    pages: [
      { name: 'record', title: 'Record over HTTP', sections: ['record', 'stream', 'metadata'] },
      { name: 'opentelemetry', title: 'OpenTelemetry', sections: ['opentelemetry', 'libraries'] },
      { name: 'coding-agents', title: 'Coding agents', sections: ['coding-agents', 'transcripts'] },
      { name: 'clients', title: 'Your own code', sections: ['client'] },
      { name: 'python', title: 'Python', sections: ['client-python'] },
      { name: 'applications', title: 'Whole applications', sections: ['applications'] }
    ]
  },
  { title: 'Look', pages: [{ name: 'dashboard', title: 'The dashboard', sections: ['dashboard'] }] },
  {
    title: 'Ask',
    pages: [
      { name: 'find', title: 'Find traces', sections: ['list', 'search', 'failures'] },
      { name: 'sums', title: 'Sums and syncs', sections: ['usage', 'sync'] },
      { name: 'scores', title: 'Scores and evaluation', sections: ['score', 'evaluate'] },
      { name: 'terminal', title: 'In the terminal', sections: ['terminal'] },
      { name: 'delete', title: 'Delete', sections: ['delete'] }
    ]
  },
  {
    title: 'Operate',
    pages: [
      { name: 'operate', title: 'Deploy and secure', sections: ['operate'] },
      { name: 'upkeep', title: 'Back up, prune and grow', sections: ['upkeep'] }
    ]
  },
  {
    title: 'Reference',
    pages: [
      { name: 'errors', title: 'Errors', sections: ['errors'] },
      { name: REFERENCE, title: 'Operations', sections: [] }
    ]
  }
]

export const PAGES: readonly GuidePage[] = PARTS.flatMap(({ pages }) => pages)
