/** Findings about what users write: definitions and configuration files. Those about an installation are in `finding.ts`. */

/**
 * `error`: a part of it cannot work as it is written. `warning`: it is unfinished, or may not do what is meant. `note`: it has no
 * effect here, and need not have one.
 */
type Severity = 'error' | 'warning' | 'note'

export interface DocumentFinding {
  readonly severity: Severity
  /** Where in the document: `stages[2].type`, `spinnaker.yml:12: services.echo`; empty for the document as a whole. */
  readonly place: string
  /** Name of the stage, of a definition. */
  readonly stage?: string
  /** Sentences: what is wrong, what would happen, and what to write instead. */
  readonly message: string
  /** Part of what is stored is held back until a user with the right releases it. */
  readonly held?: true
}

export function errorAt(place: string, message: string): DocumentFinding {
  return { severity: 'error', place, message }
}

export function warningAt(place: string, message: string): DocumentFinding {
  return { severity: 'warning', place, message }
}

/** In one line: `Stage "deploy": …`, or `triggers[0].source: …`. */
export function formatFinding(finding: DocumentFinding): string {
  const where = placeOf(finding)
  return where === '' ? finding.message : `${where}: ${finding.message}`
}

export function placeOf({ place, stage }: DocumentFinding): string {
  return stage === undefined ? place : `Stage "${stage}"`
}
