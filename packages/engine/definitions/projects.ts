/** Projects: named groups of applications, clusters and pipelines that a dashboard shows together. */
import { randomUUID } from 'node:crypto'
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import {
  ProjectClusterRule,
  ProjectConfig,
  Project as ProjectModel,
} from '@fairlead/model/environments/application-models.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryCount, queryValues } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Definitions } from './collections.ts'
import { checkLists } from './pipeline-rules.ts'
import {
  incomplete,
  missingDefinition,
  nameText,
  optionalName,
  refusal,
  storedAt,
} from './requests.ts'
import { containment, rankByCloseness } from './search.ts'

const names = z.array(nameText).nullish()
const Cluster = ProjectClusterRule.extend({ applications: names })
/** Fields of the API document; the store sets the times. */
const ProjectFields = ProjectModel.extend({
  id: optionalName,
  name: optionalName,
  config: ProjectConfig.extend({
    applications: names,
    clusters: z.array(Cluster).nullish(),
  }).nullish(),
})
type Project = z.infer<typeof ProjectFields> & JsonObject

/** What a filter of the list looks at. */
const filterTexts: Record<string, (project: Project) => (string | null | undefined)[]> = {
  name: (project) => [project.name],
  email: (project) => [project.email],
  applications: (project) => project.config?.applications ?? [],
  account: (project) => clustersOf(project).map((cluster) => cluster.account),
  stack: (project) => clustersOf(project).map((cluster) => cluster.stack),
  detail: (project) => clustersOf(project).map((cluster) => cluster.detail),
}

export function projectDefinitionRoutes(app: FastifyInstance, definitions: Definitions): void {
  projectReads(app, definitions)
  projectWrites(app, definitions)
}

function projectReads(app: FastifyInstance, definitions: Definitions): void {
  const { projects } = definitions

  app.get('/v2/projects', (request) =>
    filtered(request, projects.all()).slice(0, queryCount(request, 'pageSize')),
  )

  app.get(
    '/v2/projects/:nameOrId',
    (request) =>
      findProject(definitions, pathValue(request, 'nameOrId')) ??
      storedAt(request, 'nameOrId', projects, 'project'),
  )
}

export function findProject({ projects }: Definitions, nameOrId: string): JsonObject | undefined {
  return projects.named(nameOrId)[0] ?? projects.get(foldName(nameOrId))
}

function projectWrites(app: FastifyInstance, definitions: Definitions): void {
  app.post('/v2/projects', (request) => createProject(definitions, request.body, userOf(request)))
  app.put('/v2/projects/:id', (request) =>
    replaceProject(definitions, pathValue(request, 'id'), request.body, userOf(request)),
  )
  app.delete('/v2/projects/:id', (request, reply) => {
    removeProject(definitions, pathValue(request, 'id'))
    return reply.code(202).send()
  })
}

export function createProject(definitions: Definitions, sent: unknown, user: string): JsonObject {
  const body = checkBody(ProjectFields, sent)
  return definitions.write(() => {
    if (body.id && definitions.projects.has(foldName(body.id)))
      throw refusal(`A project with the id "${body.id}" exists already.`)
    return save(definitions, body, body.id || randomUUID(), user)
  })
}

export function replaceProject(
  definitions: Definitions,
  id: string,
  sent: unknown,
  user: string,
): JsonObject {
  const body = checkBody(ProjectFields, sent)
  return definitions.write(() => {
    const stored = definitions.projects.get(foldName(id))
    if (stored === undefined) throw missingDefinition(`project with the id "${id}"`)
    return save(definitions, body, String(stored['id']), user)
  })
}

export function removeProject({ projects, write }: Definitions, id: string): void {
  write(() => projects.remove(foldName(id)))
}

function save(definitions: Definitions, body: Project, id: string, user: string): JsonObject {
  const { projects } = definitions
  const key = foldName(id)
  const name = (body.name ?? '').trim()
  if (name === '') throw incomplete('A project needs a name.')
  if (projects.named(name).some((other) => foldName(String(other['id'])) !== key)) {
    throw refusal(`A project named "${name}" exists already.`)
  }
  checkLists(definitions, 'project', objectOf(body.config))
  for (const cluster of clustersOf(body)) checkLists(definitions, 'project', cluster)
  return projects.put(key, { ...body, id, name }, user)
}

/** Filters are alternatives: a project stays when any of them matches, the closest first. */
function filtered(request: FastifyRequest, projects: Project[]): Project[] {
  const filters = Object.entries(filterTexts).flatMap(([parameter, textsOf]) => {
    const wanted = queryValues(request, parameter).flatMap((value) =>
      parameter === 'applications' ? value.split(',') : [value],
    )
    return wanted.filter((part) => part !== '').map((part) => ({ part, textsOf }))
  })
  if (filters.length === 0) return projects
  return rankByCloseness(projects, (project) => {
    const matches = filters.flatMap(({ part, textsOf }) =>
      textsOf(project).map((text) => containment(text ?? '', part)),
    )
    const found = matches.filter((match) => match !== undefined)
    return found.length === 0 ? undefined : Math.max(...found)
  })
}

function clustersOf(project: Project): z.infer<typeof Cluster>[] {
  return project.config?.clusters ?? []
}
