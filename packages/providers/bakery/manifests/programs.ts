/** Programs that render manifests: where they are, and how to get them. */

import { PortError } from '@fairlead/base/port-error.ts'
import { findOnPath, isExecutable } from '@fairlead/base/runtime/find-program.ts'
import type { ManifestBakeSettings, ProgramName } from './settings.ts'

export interface ProgramCommand {
  readonly title: string
  readonly path: string
  readonly args: readonly string[]
  /** Paths of other programs that it starts. */
  readonly readOnly?: readonly string[]
}

interface ProgramPlace {
  readonly setting: ProgramName
  /** Names in `PATH`, where the setting has no path. */
  readonly names: readonly string[]
  readonly args?: readonly string[]
}

/** The key as the reference has it. */
function programKey(name: ProgramName): string {
  return `bakery.manifests.${name}`
}

const kubectl: ProgramPlace = { setting: 'kubectl', names: ['kubectl'], args: ['kustomize'] }

/** The first one that is there renders. */
const programs = {
  HELM2: { title: 'Helm 2', places: [{ setting: 'helm2', names: ['helm2'] }] },
  HELM3: { title: 'Helm', places: [{ setting: 'helm3', names: ['helm3', 'helm'] }] },
  KUSTOMIZE: {
    title: 'Kustomize',
    places: [{ setting: 'kustomize', names: ['kustomize'], args: ['build'] }, kubectl],
  },
  KUSTOMIZE4: {
    title: 'Kustomize',
    places: [
      { setting: 'kustomize4', names: ['kustomize4', 'kustomize'], args: ['build'] },
      kubectl,
    ],
  },
  KUSTOMIZE5: {
    title: 'Kustomize',
    places: [
      { setting: 'kustomize5', names: ['kustomize5', 'kustomize'], args: ['build'] },
      kubectl,
    ],
  },
  HELMFILE: { title: 'Helmfile', places: [{ setting: 'helmfile', names: [] }] },
} as const satisfies Record<
  string,
  { readonly title: string; readonly places: readonly ProgramPlace[] }
>

type RenderingType = keyof typeof programs

/** @throws {PortError} 400 that says what to install, and which setting names its path */
export function findProgram(type: RenderingType, settings: ManifestBakeSettings): ProgramCommand {
  const { title } = programs[type]
  const places: readonly ProgramPlace[] = programs[type].places
  const path = process.env['PATH'] ?? ''
  for (const { setting, names, args = [] } of places) {
    const configured = settings.programs[setting]
    if (configured !== undefined) {
      if (isExecutable(configured)) return { title, path: configured, args }
      const found = configured.includes('/') ? undefined : findOnPath(configured, path)
      if (found !== undefined) return { title, path: found, args }
      throw new PortError(
        400,
        `${title} cannot be started: ${programKey(setting)} is ${configured}, which is no program.`,
      )
    }
    const found = names.map((name) => findOnPath(name, path)).find((each) => each !== undefined)
    if (found !== undefined) return { title, path: found, args }
  }
  const keys = places.map(({ setting }) => programKey(setting)).join(' or ')
  throw new PortError(
    400,
    `Manifests of type ${type} need ${title}, which is not installed on the machine of Fairlead. Install it, or set ${keys} to its ` +
      'path. A connected bakery (services.rosco.baseUrl) has its own.',
  )
}
