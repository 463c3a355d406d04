/** Starts the engine before a Kubernetes account in memory, and runs stages of manifests to their end. */
import type { TestContext } from 'node:test'
import type { Execution } from '../../../../packages/engine/orchestration/model.ts'
import type { ManifestSettings } from '../../../../packages/engine/orchestration/settings.ts'
import { at, type EngineOptions, startEngine, type TestEngine } from '../support.ts'
import { createManifestService, type ManifestService } from './manifest-service.ts'

type Fields = Record<string, unknown>

export const realClock = { now: Date.now, pass: () => {}, settled: async () => {} }

/** Fields of every stage on the account. */
export const place = { account: 'k8s', cloudProvider: 'kubernetes', location: 'n1' }

export interface Rig {
  readonly service: ManifestService
  readonly engine: TestEngine
  /** Runs jobs to their end. */
  run(job: Fields | readonly Fields[], status?: string): Promise<Execution>
  /** Runs stages of a pipeline to their end. */
  pipeline(stages: readonly Fields[], more?: Fields, status?: string): Promise<Execution>
}

export interface RigOptions extends Omit<EngineOptions, 'others' | 'manifests'> {
  readonly manifests?: Partial<ManifestSettings>
}

export async function startRig(
  t: TestContext,
  { manifests, ...options }: RigOptions = {},
): Promise<Rig> {
  const service = createManifestService()
  const engine = await startEngine(t, {
    clock: realClock,
    ...options,
    manifests,
    others: service.call,
  })
  return {
    service,
    engine,
    run: async (job, status = 'SUCCEEDED') =>
      (await engine.taskEnds(await engine.task(...[job].flat()), status)).execution,
    pipeline: async (stages, more = {}, status = 'SUCCEEDED') =>
      engine.ends(await engine.run({ application: 'shop', stages, ...more }), status),
  }
}

export function errorOf({ stages }: { readonly stages: readonly unknown[] }): string {
  return stages
    .flatMap((stage) => at(stage, 'context', 'exception', 'details', 'errors') ?? [])
    .join('\n')
}

/** A workload with one container. */
export function workload(kind: string, name: string, parts: Fields = {}): Fields {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'n1', ...(parts['metadata'] as Fields) },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } },
    },
  }
}

export function deploy(manifests: readonly unknown[], fields: Fields = {}): Fields {
  return {
    type: 'deployManifest',
    ...place,
    source: 'text',
    moniker: { app: 'shop' },
    manifests,
    ...fields,
  }
}

export function operationNames({ operations }: ManifestService): string[] {
  return operations.map(([name, { manifestName }]) =>
    manifestName === undefined ? name : `${name} ${String(manifestName)}`,
  )
}
