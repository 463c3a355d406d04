/** Ten objects until they are stable, beside kubectl in the same run. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../src/json/values.ts'
import { type Cluster, openCluster } from './kubernetes-cluster.ts'
import { toDeployment, toIngress, toNetworkPolicy, toService } from './kubernetes-objects.ts'
import { median, print, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post, startWithAccounts, untilSucceeded } from './standalone.ts'
import type { Scratch, Target } from './targets.ts'

const application = 'bench'
const warmUpRounds = 2

export async function measureDeploy(options: BenchOptions, scratch: Scratch): Promise<void> {
  const cluster = await openCluster()
  if (cluster === undefined) return
  const gateway = await startWithAccounts(options, scratch, [{ name: 'bench', kubeconfigFile: cluster.kubeconfigFile }])
  try {
    await createApplication(gateway, application)
    const ways = {
      kubectl: viaKubectl(cluster, scratch.dir('manifests')),
      task: viaTask(gateway),
      pipeline: viaPipeline(gateway),
    }
    for (const name of Object.keys(ways)) await cluster.createNamespace(name)
    const times: Record<string, number[]> = { kubectl: [], task: [], pipeline: [] }
    for (let turn = -warmUpRounds; turn < options.rounds; turn++) {
      for (const [name, deploy] of Object.entries(ways)) {
        const startMs = performance.now()
        await deploy(toManifests(name, turn + warmUpRounds))
        if (turn >= 0) times[name]?.push(performance.now() - startMs)
        await cluster.kubectl('delete', 'deployment', '--all', '--namespace', name, '--wait=true')
      }
    }
    printTimes(times)
  } finally {
    await gateway.process.stop()
    await cluster.close()
  }
}

function printTimes(times: Readonly<Record<string, readonly number[]>>): void {
  const peer = times['kubectl'] ?? []
  print(
    'Ten objects, three deployments of two replicas among them, until stable; API server with simulated nodes',
    Object.entries(times).map(([name, ofRounds]) => ({
      by: name,
      'median ms': round(median(ofRounds)),
      'best ms': round(Math.min(...ofRounds)),
      ratio: median(ofRounds.map((ms, turn) => ms / (peer[turn] ?? Number.NaN))).toFixed(2),
      aim: name === 'kubectl' ? '' : '1.2',
    })),
  )
}

function toManifests(namespace: string, turn: number): JsonObject[] {
  const named = (name: string) => ({ application, namespace, name: `${name}-${turn}` })
  const plain = (apiVersion: string, kind: string, name: string, rest: JsonObject) => ({
    apiVersion,
    kind,
    metadata: { name: `${name}-${turn}`, namespace, annotations: { 'strategy.spinnaker.io/versioned': 'false' } },
    ...rest,
  })
  return [
    plain('v1', 'ServiceAccount', 'web', {}),
    plain('v1', 'ConfigMap', 'conf', { data: { color: 'blue' } }),
    plain('v1', 'Secret', 'keys', { stringData: { key: 'for the benchmark only' } }),
    toService(named('web'), { app: `web-${turn}` }),
    toService(named('api'), { app: `api-${turn}` }),
    toIngress(named('web'), `web-${turn}`),
    toNetworkPolicy(named('web')),
    ...['web', 'api', 'worker'].map((name) => toDeployment(named(name), 2)),
  ]
}

type Deploy = (manifests: readonly JsonObject[]) => Promise<void>

function viaKubectl(cluster: Cluster, dir: string): Deploy {
  return async (manifests) => {
    const file = join(dir, 'manifests.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }))
    await cluster.kubectl('apply', '--filename', file)
    await cluster.kubectl('rollout', 'status', 'deployment', '--namespace', 'kubectl')
  }
}

function toStage(manifests: readonly JsonObject[]): JsonObject {
  return {
    type: 'deployManifest',
    cloudProvider: 'kubernetes',
    account: 'bench',
    source: 'text',
    moniker: { app: application },
    manifests,
  }
}

function viaTask(gateway: Target): Deploy {
  return async (manifests) => {
    const task = { application, description: 'Deploy', job: [toStage(manifests)] }
    await untilSucceeded(gateway, await post(gateway, '/tasks', task))
  }
}

/** The pipeline is saved, then started. */
function viaPipeline(gateway: Target): Deploy {
  return async (manifests) => {
    const stage = { ...toStage(manifests), refId: '1', requisiteStageRefIds: [], name: 'Deploy' }
    await post(gateway, '/pipelines', { application, id: 'bench-deploy', name: 'deploy', stages: [stage] })
    await untilSucceeded(gateway, await post(gateway, `/pipelines/${application}/deploy`, {}))
  }
}
