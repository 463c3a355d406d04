/** The embedded bakery with the artifacts of the embedded infrastructure, and stand-ins for the programs that render. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { create } from 'tar'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { defaultOutsideSettings } from '../../packages/base/outside/settings.ts'
import type { SandboxChoice } from '../../packages/base/sandbox/settings.ts'
import { createBakeryBackend } from '../../packages/providers/bakery/bakery.ts'
import { BakeryKeys, toBakerySettings } from '../../packages/providers/bakery/setting-keys.ts'
import { createInfrastructureBackend } from '../../packages/providers/infrastructure/infrastructure.ts'
import {
  InfrastructureKeys,
  toInfrastructureSettings,
} from '../../packages/providers/infrastructure/setting-keys.ts'
import { startBackends } from './backends.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'

export interface ManifestBakery {
  bake(
    type: string,
    request: JsonObject,
  ): Promise<{ status: number; text: string; body: JsonObject }>
  /** For programs and what they write. */
  readonly folder: string
  /** Arguments of each start of a program, without its own path. */
  starts(): string[][]
}

export interface ManifestBakeryOptions {
  /** Text of a shell script for each program, by its name in the settings. */
  readonly programs?: Readonly<Record<string, string>>
  /** Further settings of the bakery, by key. */
  readonly settings?: JsonObject
  /** Settings of the infrastructure, by key. */
  readonly artifacts?: JsonObject
  readonly allowsCommands?: boolean
  /** Default: none, since stand-ins record what they get outside of the folder of their bake. */
  readonly sandbox?: SandboxChoice
}

/** Stand-ins record their arguments and environment in the folder `$OUT` of the script. */
export async function startManifestBakery(
  t: TestContext,
  options: ManifestBakeryOptions = {},
): Promise<ManifestBakery> {
  const folder = createFolder('manifests-test')
  t.after(() => removeFolder(folder))
  const paths = Object.entries(options.programs ?? {}).map(([name, script]) => {
    const path = join(folder, name)
    const record = `OUT='${folder}'\n{ printf '%s\\n' "$@"; echo ---; } >> "$OUT/args"\nenv > "$OUT/env"\npwd > "$OUT/pwd"\n`
    writeFileSync(path, `#!/bin/sh\n${record}${script}\n`, { mode: 0o755 })
    return [`bakery.manifests.${name}`, path]
  })
  const keys = BakeryKeys.parse({ ...Object.fromEntries(paths), ...options.settings })
  const bakery = toBakerySettings(
    keys,
    { problem: () => {} },
    { isPrivate: options.allowsCommands === true, dataDir: folder },
  )
  const report = {
    problem: (key: string, text: string) => t.diagnostic(`${key}: ${text}`),
    notice: () => {},
    isSet: () => false,
  }
  const infrastructure = toInfrastructureSettings(
    InfrastructureKeys.parse(options.artifacts ?? {}),
    report,
  )
  const { sandbox = 'none' } = options
  const outside = { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'], sandbox }
  const backends = await startBackends(
    t,
    [createInfrastructureBackend([]), createBakeryBackend([])],
    {
      settings: { bakery, infrastructure, outside },
    },
  )
  return {
    folder,
    async bake(type, request) {
      const { status, body } = await backends.ask(
        'rosco',
        'POST',
        `/api/v2/manifest/bake/${type}`,
        request,
      )
      const answer = body as JsonObject
      const text =
        status === 200
          ? Buffer.from(String(answer['reference']), 'base64').toString()
          : String(answer['message'])
      return { status, text, body: answer }
    },
    starts() {
      const file = join(folder, 'args')
      if (!existsSync(file)) return []
      return readFileSync(file, 'utf8')
        .split('---\n')
        .slice(0, -1)
        .map((start) => start.trimEnd().split('\n'))
    },
  }
}

/** An artifact that is its own content. */
export function embedded(content: Buffer | string): JsonObject {
  return {
    type: 'embedded/base64',
    name: 'input',
    reference: Buffer.from(content).toString('base64'),
  }
}

/** @param files By path; those that begin with `->` are links */
export async function packFiles(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const folder = createFolder('sources')
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    if (typeof content === 'string' && content.startsWith('->'))
      symlinkSync(content.slice(2), join(folder, name))
    else writeFileSync(join(folder, name), content)
  }
  const chunks: Buffer[] = []
  for await (const chunk of create(
    { cwd: folder, gzip: true, portable: true },
    readdirSync(folder),
  ))
    chunks.push(chunk as Buffer)
  removeFolder(folder)
  return Buffer.concat(chunks)
}
