/** All sources that are polled for triggers. */
import { gitRefs } from './git-refs.ts'
import type { PolledSource } from './polled-source.ts'
import { registrySources } from './registry-tags.ts'

export const polledSources: readonly PolledSource[] = [gitRefs, ...registrySources]
