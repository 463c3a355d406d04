/** Pipeline templates for the editor of an instance, and the expansion of an instance. */

import { fieldOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  type StoredTemplate,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import type { FastifyInstance } from 'fastify'
import { maskDefinition } from '../../pipelines/trigger-secrets.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { loadTemplate } from '../submission/template-instance.ts'

/** Templates of the first schema may extend each other; more levels than this are taken for a circle. */
const mostLevels = 20

export function templatePlanRoutes(app: FastifyInstance, sources: EngineOptions): void {
  // Sources without expressions do not depend on the execution that the query may name.
  app.get<{ Querystring: { source?: unknown } }>('/pipelineTemplate', async (request) =>
    maskDefinition(await resolveTemplate(request.query.source, trustedCallerOf(request), sources)),
  )
}

/**
 * The template that a source names, with what it takes from the templates that it extends.
 *
 * @throws {PortError} 400 when there is none; 403 when the caller may not read it; 502 when the definition store fails
 */
async function resolveTemplate(
  source: unknown,
  as: Caller,
  sources: EngineOptions,
): Promise<JsonObject> {
  let resolved: JsonObject = {}
  let next = source
  for (let level = 0; level < mostLevels; level++) {
    const template = await loadTemplate(checkSource(next), as, sources)
    resolved = merge(template, resolved) as JsonObject
    next = template['source']
    if (next === undefined || next === null || next === '') return resolved
  }
  throw new PortError(
    400,
    `The template extends more than ${mostLevels} others, or itself in a circle.`,
  )
}

/** @throws {PortError} 400 for a source that is no template of the definition store */
function checkSource(source: unknown): StoredTemplate {
  const stored = /\{\{|\{%/.test(String(source)) ? undefined : storedTemplate(source)
  if (stored !== undefined) return stored
  throw new PortError(
    400,
    'Templates are read from the definition store: use a "source" such as spinnaker://<id> or spinnaker://<id>:<tag>.',
  )
}

/** What the child says counts; in lists, its entries replace those of the same name or id. */
function merge(parent: unknown, child: unknown): unknown {
  if (child === undefined) return parent
  if (isObject(parent) && isObject(child)) {
    const keys = new Set([...Object.keys(parent), ...Object.keys(child)])
    return Object.fromEntries(
      [...keys].map((key) => [key, merge(fieldOf(parent, key), fieldOf(child, key))]),
    )
  }
  if (!Array.isArray(parent) || !Array.isArray(child)) return child
  const replaced = new Set<unknown>(child.map(keyOf).filter((key) => key !== undefined))
  return [...parent.filter((entry) => !replaced.has(keyOf(entry))), ...child]
}

function keyOf(entry: unknown): unknown {
  return isObject(entry) ? (entry['name'] ?? entry['id']) : undefined
}
