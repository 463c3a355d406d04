/** Schemas of canary configurations: what kayenta stores, and what an analysis needs. */
import { type DocumentFinding, warningAt } from '@fairlead/base/findings/document-finding.ts'
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldOf,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { findBodyProblems, optionalFlagField as flag } from '@fairlead/ports/requests/check-body.ts'
import { z } from 'zod'
import { type JudgedMetric, judgeName } from './judge/judge.ts'
import { findRareEvents } from './rare-events.ts'
import { metricSources } from './sources/all.ts'

/** Names that kayenta allows. */
const nameForm = /^[A-Za-z0-9,_-]+$/
/** Ids are parts of paths; the service chooses one in place of an empty one. */
const idForm = /^(?!\.{1,2}$)[^/\\\p{Cc}]{0,255}$/u
const lastMs = 8.64e15
/** Three weights of 33.3 are meant to be 100. */
const roundingOfWeights = 0.5

/** Clients write numbers as text, too. */
function numeric(number = z.number()) {
  return z.preprocess((value) => numberOf(value) ?? value, number)
}

const percent = numeric(z.number().min(0).max(100))
const factor = numeric(z.number().min(0)).nullish()
const instant = numeric(z.number().min(0).max(lastMs)).nullish()
const texts = z.array(z.string())

/** `default` and `none` are words of Deck and kayenta for "unless given". */
const Rules = z.looseObject({
  direction: z.enum(['increase', 'decrease', 'either']).nullish(),
  nanStrategy: z.enum(['remove', 'replace', 'default', 'none']).nullish(),
  outliers: z
    .looseObject({
      strategy: z.enum(['remove', 'keep', 'default', 'none']).nullish(),
      outlierFactor: numeric(
        z.number().refine((value) => value > 0, 'it must be above 0'),
      ).nullish(),
    })
    .nullish(),
  effectSize: z
    .looseObject({
      measure: z.enum(['meanRatio', 'cles']).nullish(),
      allowedIncrease: factor,
      allowedDecrease: factor,
      criticalIncrease: factor,
      criticalDecrease: factor,
    })
    .nullish(),
  critical: flag,
  rareEvents: flag,
  mustHaveData: flag,
  muted: flag,
})

/** A query may be of any type: configurations come from a kayenta with other sources, and go back to it. An analysis needs a known one. */
const Metric = z.looseObject({
  name: z.string().min(1),
  query: z.looseObject({}),
  groups: texts.nullish(),
  scopeName: z.string().nullish(),
  analysisConfigurations: z.looseObject({ canary: Rules.nullish() }).nullish(),
})

const Thresholds = z
  .looseObject({ pass: percent.nullish(), marginal: percent.nullish() })
  .refine(
    ({ pass, marginal }) => (marginal ?? 0) <= (pass ?? 100),
    '"marginal" must not be above "pass"',
  )

const JudgedParts = z.looseObject({
  metrics: z.array(Metric).nullish(),
  judge: z
    .looseObject({
      name: z.string().refine((name) => name === judgeName, {
        error: ({ input }) =>
          `the judge "${String(input)}" is not of the embedded service, which has ${judgeName}: choose that one, or set services.kayenta.baseUrl`,
      }),
    })
    .nullish(),
  templates: z.record(z.string(), z.string()).nullish(),
  classifier: z
    .looseObject({
      groupWeights: z.record(z.string(), percent).nullish(),
      scoreThresholds: Thresholds.nullish(),
    })
    .nullish(),
})

/** What an analysis needs of a configuration, which need not be stored. */
export const JudgedConfiguration = JudgedParts.superRefine(checkTogether)

/** What kayenta would store: another judge or a plug-in may know the rest. */
export const StoredConfiguration = z.looseObject({
  id: z
    .string()
    .regex(idForm, 'it must not have slashes, nor be longer than 255 characters')
    .nullish(),
  name: z.string().regex(nameForm, 'it may have only letters, digits, hyphens and underscores'),
  applications: z.array(z.string().min(1)).min(1),
  metrics: z.array(z.looseObject({}).nullable()).nullish(),
  createdTimestamp: instant,
  updatedTimestamp: instant,
})

/** Why analyses with it would be refused, or else which metrics they would pass whatever these do. */
export function configurationFindings(config: JsonObject): DocumentFinding[] {
  const problems = findBodyProblems(JudgedConfiguration, config)
  return problems.length === 0
    ? [
        ...findRareEvents(config as { metrics?: readonly JudgedMetric[] }),
        ...weightlessGroups(config),
        ...unknownSources(config),
      ]
    : problems.map(({ place, message }) => ({
        severity: 'error',
        place,
        message: `An analysis with it is rejected: ${message}.`,
      }))
}

const toSources = shape({
  metrics: list(
    shape({ name: or(textOf, ''), query: shape({ serviceType: textOf, type: textOf }) }),
  ),
})

/** Metrics of sources that the embedded service does not have. */
function unknownSources(config: JsonObject): DocumentFinding[] {
  return toSources(config).metrics.flatMap(({ name, query }, index) => {
    const wanted = query.serviceType ?? query.type
    return wanted === undefined || metricSources.some(({ id }) => id === wanted)
      ? []
      : [
          warningAt(
            `metrics[${index}].query.type`,
            `An analysis of "${name}" is rejected: the embedded service has no metrics of ${wanted}. Use ${metricSources.map(({ id }) => id).join(', ')}, or set services.kayenta.baseUrl.`,
          ),
        ]
  })
}

const toGroups = shape({
  metrics: list(shape({ groups: textsOf })),
  classifier: shape({ groupWeights: objectOf }),
})

/** Groups without a weight share what the others leave, which may be nothing. */
function weightlessGroups(config: JsonObject): DocumentFinding[] {
  const { metrics, classifier } = toGroups(config)
  const { groupWeights } = classifier
  const sum = Object.values(groupWeights).reduce((all: number, weight) => all + Number(weight), 0)
  if (sum < 100 - roundingOfWeights) return []
  const groups = new Set(metrics.flatMap((metric) => metric.groups))
  return [...groups]
    .filter((name) => !Object.hasOwn(groupWeights, name))
    .map((name) =>
      warningAt(
        'classifier.groupWeights',
        `The group "${name}" has no weight, and the others have all of it: its metrics do not count. Give it one.`,
      ),
    )
}

const toFilter = shape({
  customFilter: textOf,
  customInlineTemplate: textOf,
  customFilterTemplate: or(textOf, ''),
})

/** Why the filter of a query cannot be used. */
function describeFilter(
  query: unknown,
  templates: unknown,
): [field: string, message: string] | undefined {
  const { customFilter, customInlineTemplate, customFilterTemplate: name } = toFilter(query)
  if (customFilter !== undefined)
    return ['customFilter', 'it is no longer supported; use "customInlineTemplate"']
  if (customInlineTemplate !== undefined || name === '' || fieldOf(templates, name) !== undefined)
    return undefined
  return [
    'customFilterTemplate',
    `the configuration has no template "${name}"; add it to "templates"`,
  ]
}

function checkTogether(
  { metrics, templates, classifier }: z.output<typeof JudgedParts>,
  { addIssue }: z.core.$RefinementCtx,
): void {
  const names = new Set<string>()
  metrics?.forEach(({ name, query }, index) => {
    const [field, message] = describeFilter(query, templates) ?? []
    if (field !== undefined && message !== undefined)
      addIssue({ code: 'custom', path: ['metrics', index, 'query', field], message })
    if (names.has(name)) {
      addIssue({
        code: 'custom',
        path: ['metrics', index, 'name'],
        message: `another metric is named "${name}" too`,
      })
    }
    names.add(name)
  })
  const weights = classifier?.groupWeights ?? {}
  const groups = new Set(metrics?.flatMap((metric) => metric.groups ?? []))
  const sum = Object.values(weights).reduce((all, weight) => all + weight, 0)
  // Groups without a weight share what the others leave.
  const isComplete = groups.size > 0 && [...groups].every((name) => Object.hasOwn(weights, name))
  if (sum <= 100 + roundingOfWeights && (!isComplete || sum >= 100 - roundingOfWeights)) return
  const message = `they add up to ${Number(sum.toPrecision(6))}, ${isComplete ? 'not' : 'more than'} 100`
  addIssue({ code: 'custom', path: ['classifier', 'groupWeights'], message })
}
