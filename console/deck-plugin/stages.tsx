/** Stage types for programs on this machine: a form of the fields that the engine describes, and details of executions. */

import { type JsonObject, objectOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import type { StageDescription } from '@fairlead/model/stage-types/description.ts'
import { type Application, consoleUrl, core, provider, type StageType, useEffect } from './deck.ts'
import { Fields } from './fields.tsx'
import { Facts } from './panel.tsx'

/** `deploy` and `upsertLoadBalancers` are Deck's own: it has a dialog for each of their entries. */
const ofDeck = new Set(['deploy', 'upsertLoadBalancers'])

/** Known, so that pipelines with them are shown, and no longer offered. */
const older = new Set(['copyLastAsg', 'findAmi', 'findImageFromCluster'])

/** What the plug-in sets itself. */
const hidden = new Set(['cloudProvider', 'cloudProviderType'])

export function fieldsOf(type: string, isShown: (name: string) => boolean) {
  return (stageDescriptions.get(type)?.fields ?? []).filter(({ name }) => isShown(name))
}

/** To be registered after those of Deck, which come first. */
export function createStageTypes(): readonly StageType[] {
  const known = new Map(core.Registry.pipeline.getStageTypes().map((type) => [type.key, type]))
  return [...stageDescriptions.values()]
    .filter(
      ({ type, use, fields }) =>
        use !== 'task' &&
        !ofDeck.has(type) &&
        fields.some(({ name }) => hidden.has(name) || name === 'credentials'),
    )
    .flatMap((description) => {
      const base = known.get(description.type)
      const { type: key, label } = description
      if (base === undefined)
        return { ...toStageType(description), key, label, synthetic: older.has(key) }
      return base['useBaseProvider'] === true
        ? { ...toStageType(description), provides: description.type }
        : []
    })
}

function toStageType({ type, description, fields }: StageDescription): StageType {
  const required = fields.filter((field) => field.required === true)
  return {
    cloudProvider: provider,
    description,
    component: createForm(type),
    // Without it, Deck would take the template for other providers.
    executionDetailsSections: [ExecutionSummary, core.ExecutionDetailsTasks],
    supportsCustomTimeout: true,
    restartable: true,
    accountExtractor: ({ context }: { context: JsonObject }) => accountsOf(context),
    configAccountExtractor: accountsOf,
    validators: required.map(({ name }) => ({ type: 'requiredField', fieldName: name })),
  }
}

function accountsOf({ credentials, account }: JsonObject) {
  return [credentials, account].flatMap((name) => scalarOf(name) ?? []).slice(0, 1)
}

interface FormProps {
  readonly application: Application
  readonly stage: JsonObject
  readonly updateStageField: (changes: JsonObject) => void
}

function createForm(type: string) {
  const fields = fieldsOf(type, (name) => !hidden.has(name))
  return function StageForm({ application, stage, updateStageField }: FormProps) {
    useEffect(() => {
      if (stage['cloudProvider'] !== provider) updateStageField({ cloudProvider: provider })
    }, [])
    return (
      <Fields
        application={application.name}
        fields={fields}
        value={stage}
        onChange={updateStageField}
      />
    )
  }
}

interface SummaryProps {
  readonly name: string
  readonly current: string
  readonly stage: JsonObject
  readonly execution: JsonObject
}

function ExecutionSummary({ name, current, stage, execution }: SummaryProps) {
  const context = objectOf(stage['context'])
  const places = textsOf(context['regions'])
  return (
    <core.ExecutionDetailsSection name={name} current={current}>
      <Facts
        facts={{
          Account: accountsOf(context)[0],
          Regions: (places.length > 0 ? places : [scalarOf(context['region'])]).join(', '),
          Cluster: scalarOf(context['cluster']),
          'Server group': scalarOf(context['serverGroupName'] ?? context['asgName']),
          Image: scalarOf(context['imageId'] ?? objectOf(context['deploymentDetails'])['imageId']),
        }}
      />
      <a href={consoleUrl('executions', String(execution['id']))} target="_blank" rel="noreferrer">
        Open in the console of Fairlead
      </a>
    </core.ExecutionDetailsSection>
  )
}
ExecutionSummary.title = 'summary'
