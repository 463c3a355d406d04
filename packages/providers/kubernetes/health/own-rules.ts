/** Rules of accounts, applications and objects for the states of kinds, in CEL (docs/contracts/kubernetes.md#status). */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, mapLeaves, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { Environment } from '@marcbachmann/cel-js'
import { z } from 'zod'
import type { KubeObject } from '../objects.ts'
import { type HealthOutcome, type ObjectState, outcome } from './result.ts'

/** In the order in which they decide. */
const states = ['failed', 'suspended', 'progressing', 'healthy'] as const

/** Fields of the object that expressions name without `object`, as those of Flux do. */
const parts = ['metadata', 'spec', 'status', 'data'] as const

let environment: Environment | undefined

/** Made for the first expression: few installations have any. */
function openEnvironment(): Environment {
  environment ??= parts.reduce(
    (declared, name) => declared.registerVariable(name, 'dyn'),
    new Environment({ enableOptionalTypes: true, limits: { maxAstNodes: 2000 } })
      .registerVariable('object', 'dyn')
      .registerVariable('now', 'google.protobuf.Timestamp'),
  )
  return environment
}

const Expression = z
  .string()
  .superRefine((text, context) => {
    try {
      const { valid, error } = openEnvironment().check(text)
      if (!valid) context.addIssue(`is no expression of CEL: ${firstLine(error)}`)
    } catch (error) {
      context.addIssue(`is no expression of CEL: ${firstLine(error)}`)
    }
  })
  .optional()

function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
}

export const OwnRule = z
  .strictObject({
    group: z.string().default('').describe('API group of the kind; empty: the core group.'),
    apiVersion: z.string().optional().describe('The same as `group/version`, as Flux has it.'),
    kind: z.string().min(1).describe('The kind, such as `Widget`.'),
    healthy: Expression.describe('Whether the object is in order, in CEL over `object` and `now`.'),
    progressing: Expression.describe('Whether its controller has work.'),
    failed: Expression.describe('Whether it has failed.'),
    suspended: Expression.describe('Whether a person has stopped it.'),
    message: Expression.describe('The sentence that is shown.'),
    current: Expression.describe('Name that Flux has for `healthy`.'),
    inProgress: Expression.describe('Name that Flux has for `progressing`.'),
  })
  .transform(({ current, inProgress, apiVersion, group, ...rule }) => ({
    ...rule,
    group: apiVersion === undefined ? group : groupOf(apiVersion),
    healthy: rule.healthy ?? current,
    progressing: rule.progressing ?? inProgress,
  }))
export type OwnRule = z.infer<typeof OwnRule>

function groupOf(apiVersion: string): string {
  const [group = '', version] = apiVersion.split('/')
  return version === undefined ? '' : group
}

const toRuleHead = shape({ group: textOf, apiVersion: textOf, kind: textOf })

type Evaluate = ReturnType<Environment['parse']>

type Rule = ReadonlyMap<ObjectState | 'message', Evaluate>

export class OwnRules {
  /** By group and kind; a text says why a rule cannot be read. */
  readonly #rules: ReadonlyMap<string, Rule | string>

  /** Rules as users have stored them: of those for the same kind, the first counts. */
  static read(stored: readonly JsonObject[]): OwnRules {
    const broken = new Map<string, string>()
    const rules = stored.flatMap((each) => {
      const { data, error } = OwnRule.safeParse(each)
      const { group = '', apiVersion, kind } = toRuleHead(each)
      if (error !== undefined)
        broken.set(
          `${apiVersion === undefined ? group : groupOf(apiVersion)}/${kind}`,
          error.issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim()).join('; '),
        )
      return data ?? []
    })
    return new OwnRules(rules.toReversed(), broken)
  }

  constructor(rules: readonly OwnRule[], broken: ReadonlyMap<string, string> = new Map()) {
    this.#rules = new Map<string, Rule | string>([
      ...broken,
      ...rules.map(
        (rule) =>
          [
            `${rule.group}/${rule.kind}`,
            new Map(
              [...states, 'message' as const].flatMap((name) => {
                const text = rule[name]
                return text === undefined ? [] : [[name, openEnvironment().parse(text)] as const]
              }),
            ),
          ] as const,
      ),
    ])
  }

  /** Undefined: no rule is for the kind. */
  outcomeOf(object: KubeObject, nowMs: number): HealthOutcome | undefined {
    const rule = this.#rules.get(`${groupOf(object.apiVersion)}/${object.kind}`)
    if (rule === undefined) return undefined
    if (typeof rule === 'string')
      return outcome('unknown', `A health rule for ${object.kind} cannot be read: ${rule}.`)
    // Whole numbers of JSON are integers of CEL.
    const whole = objectOf(
      mapLeaves(object, (leaf) => (Number.isInteger(leaf) ? BigInt(leaf as number) : leaf)),
    )
    const named = Object.fromEntries(parts.map((name) => [name, whole[name] ?? {}]))
    const values = { ...named, object: whole, now: new Date(nowMs) }
    try {
      const state = states.find((name) => holds(rule.get(name), values))
      const message = evaluated(rule.get('message'), values)
      const usual =
        state === undefined ? 'No expression of its rule holds yet.' : `Its rule says ${state}.`
      return outcome(state ?? 'progressing', typeof message === 'string' ? message : usual)
    } catch (error) {
      return outcome(
        'unknown',
        `A health rule for ${object.kind} cannot be evaluated: ${firstLine(error)}.`,
      )
    }
  }
}

function holds(evaluate: Evaluate | undefined, values: object): boolean {
  return evaluated(evaluate, values) === true
}

/** A field that is missing makes an expression false. */
function evaluated(evaluate: Evaluate | undefined, values: object): unknown {
  try {
    return evaluate?.(values)
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'no_such_key' || code === 'index_out_of_bounds') return undefined
    throw error
  }
}
