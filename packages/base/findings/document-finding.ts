/** Findings about what users write: definitions and configuration files. Those about an installation are in `finding.ts`. */

/**
 * `error`: a part of it cannot work as it is written. `warning`: it may not do what is meant. `note`: it has no effect here, and need
 * not have one.
 */
export type Severity = 'error' | 'warning' | 'note'

export interface DocumentFinding {
  readonly severity: Severity
  /** Where in the document: `stages[2].type`, `spinnaker.yml:12: services.echo`; empty for the document as a whole. */
  readonly place: string
  /** Name of the stage, of a definition. */
  readonly stage?: string | undefined
  /** A sentence: what is wrong, and what would happen. */
  readonly message: string
  /** A sentence: what to write instead; absent where the message says it. */
  readonly advice?: string | undefined
}

/** In one line: `Stage "deploy", clusters[0].account: …`. */
export function formatFinding({ place, stage, message, advice }: DocumentFinding): string {
  const where = [
    ...(stage === undefined ? [] : [`Stage "${stage}"`]),
    ...(place === '' ? [] : [place]),
  ]
  const text = advice === undefined ? message : `${message} ${advice}`
  return where.length === 0 ? text : `${where.join(', ')}: ${text}`
}
