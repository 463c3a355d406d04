/** Texts and places of the files that an export writes: one for each definition. */

import { formatYaml } from '@fairlead/base/json/yaml.ts'
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'
import type { Definition } from './definition.ts'

export type FileFormat = 'yaml' | 'json'

const folders: Readonly<Record<FileKind, string | undefined>> = {
  application: undefined,
  environments: undefined,
  'load-balancer': 'load-balancers',
  project: 'projects',
  template: 'templates',
  'canary-configuration': 'canary-configurations',
  strategy: 'strategies',
  pipeline: 'pipelines',
}

/** What identifies a definition comes first; the other fields keep their order. */
export function textOfFile(
  { kind, application, name, document }: Definition,
  format: FileFormat,
): string {
  const first = ['application', 'applications', 'name', 'id'].filter((key) => key in document)
  const head = Object.fromEntries(first.map((key) => [key, document[key]]))
  const whole = { kind, ...(application !== undefined && { application }), name, ...document }
  const written =
    kind === 'canary-configuration' || kind === 'template' || kind === 'application'
      ? { kind, ...head, ...document }
      : kind === 'environments'
        ? { kind, ...document }
        : whole
  return format === 'json' ? `${JSON.stringify(written, undefined, 2)}\n` : formatYaml(written)
}

/** Paths below the folder; names that differ by what a file name cannot hold get a number. */
export function pathsOf(definitions: readonly Definition[], format: FileFormat): string[] {
  const taken = new Set<string>()
  return definitions.map(({ kind, name }) => {
    const folder = folders[kind]
    const stem = folder === undefined ? kind : `${folder}/${toFileName(name)}`
    for (let number = 1; ; number++) {
      const path = `${stem}${number === 1 ? '' : `-${number}`}.${format === 'json' ? 'json' : 'yml'}`
      if (taken.has(path)) continue
      taken.add(path)
      return path
    }
  })
}

const longestName = 80

function toFileName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longestName)
  return plain.replaceAll(/^-+|(?<!-)-+$/g, '') || 'unnamed'
}
