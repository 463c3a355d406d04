/** What stages ask of apps. */
import type { Caller } from '@fairlead/ports/caller.ts'

export interface RevisionOrder {
  readonly application: string
  /** Address of a Git repository. */
  readonly repository: string
  /** Branch that is deployed to the first environment; others are previews. */
  readonly mainBranch: string
  /** Artifact account for the repository. */
  readonly account: string | undefined
  /** Undefined: the main branch. */
  readonly branch?: string
  /** Undefined: what the branch has now. */
  readonly commit?: string
  /** Whether the branch was deleted. */
  readonly isDeletion: boolean
}

export interface AppRevisions {
  /** @returns the execution that deploys or removes it; undefined: nothing is to be done @throws {PortError} */
  deployRevision(order: RevisionOrder, as: Caller): Promise<string | undefined>
}
