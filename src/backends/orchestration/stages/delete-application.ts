/**
 * `deleteApplication`: removes an application that has no clusters and no security groups any more.
 * @see docs/contracts/orchestration.md#jobs
 */
import { formatQuery, pathTo } from '../../../http/encode-path.ts'
import { isObject } from '../../../json/values.ts'
import { StageError } from '../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const deleteApplicationStage: StageType = {
  type: 'deleteApplication',
  steps: [
    { name: 'verifyNoDependencies', execute: verifyNoDependencies, readsOnly: true, pollMs: 5000, timeoutMs: 10 * 60_000 },
    { name: 'deleteApplication', execute: deleteApplication, pollMs: 10_000, timeoutMs: 3600 * 1000 },
  ],
}

async function verifyNoDependencies(context: TaskContext): Promise<TaskResult> {
  const name = nameOf(context)
  const errors: string[] = []
  const clusters = await clusterNames(context, name)
  if (clusters.length > 0) errors.push(`Application has outstanding dependencies: clusters ${clusters.join(', ')}`)
  const groups = await securityGroupNames(context, name)
  if (groups.length > 0) errors.push(`Application has outstanding dependencies: security groups ${groups.join(', ')}`)
  if (errors.length > 0) throw new StageError(errors)
  return { status: 'SUCCEEDED' }
}

async function clusterNames(context: TaskContext, name: string): Promise<string[]> {
  const path = pathTo`/applications/${name}/clusters`
  const { body } = await context.call('clouddriver', { method: 'GET', path }, [404])
  return isObject(body) ? Object.values(body).flatMap((names) => (Array.isArray(names) ? names.map(String) : [])) : []
}

async function securityGroupNames(context: TaskContext, name: string): Promise<string[]> {
  const path = `/search${formatQuery({ q: name, type: 'securityGroups', pageSize: 10_000, page: 1 })}`
  const { body } = await context.call('clouddriver', { method: 'GET', path }, [404])
  const sets = Array.isArray(body) ? body : []
  const hits = sets.flatMap((set: unknown) => (isObject(set) && Array.isArray(set['results']) ? set['results'] : []))
  const own = hits.filter((hit) => isObject(hit) && String(hit['application'] ?? '').toLowerCase() === name.toLowerCase())
  return own.map((hit) => String(hit['name'] ?? hit['id']))
}

async function deleteApplication(context: TaskContext): Promise<TaskResult> {
  const name = nameOf(context)
  const told = { 'notification.type': 'deleteapplication', 'application.name': name }
  const path = pathTo`/v2/applications/${name}`
  const found = await context.call('front50', { method: 'GET', path }, [404])
  if (found.status === 404) return { status: 'SUCCEEDED', context: told }
  await context.call('front50', { method: 'DELETE', path }, [404])
  await context.call('front50', { method: 'DELETE', path: pathTo`/permissions/applications/${name}` }, [404])
  return { status: 'SUCCEEDED', context: { ...told, previousState: found.body } }
}

function nameOf(context: TaskContext): string {
  const { application } = context.stage.context
  const name = isObject(application) ? application['name'] : application
  if (typeof name === 'string' && name.trim() !== '') return name.trim()
  throw new StageError(['The job does not name an application.'])
}
