/** The form of deployments: each server group to create is a card. */
import { useState } from 'preact/hooks'
import { useCloudProviders } from '../../api/cloud-providers.ts'
import { Banner } from '../../components/banner.tsx'
import { type Json, textOf } from '../../model/read.ts'
import { useAccounts } from '../choices.ts'
import { ItemList, MoreFields } from '../fields.tsx'
import { isSamePath, withValueAt } from '../json-path.ts'
import { imageSourcesOf } from './checks.ts'
import { F, FormContext, useForm, Ways } from './form.tsx'
import { freshGroup, placeIn } from './fresh.ts'
import { StrategyFields, strategyFields } from './strategy.tsx'

export function DeployForm() {
  const { draft, base, fields } = useForm()
  const { fields: own = [] } = fields.find(({ name }) => name === 'clusters') ?? {}
  const path = [...base, 'clusters']
  const error = draft.problems.value.find((problem) => isSamePath(problem.path, path))?.message
  const place = placeIn(draft.application, useAccounts(), useCloudProviders())
  return (
    <>
      {error !== undefined && <Banner tone="warning">{error}</Banner>}
      <ItemList
        draft={draft}
        path={path}
        kind={{
          itemName: 'server group',
          fields: () => own,
          title: (cluster) => titleOf(cluster, draft.application),
          detail: (cluster) => textOf(cluster['account'] ?? cluster['credentials']),
          // Another one is mostly the same elsewhere.
          fresh: (items) => ({ ...(items.at(-1) ?? freshGroup(place)), ...(items.length > 0 && { stack: 'other' }) }),
          form: (at) => (
            <FormContext.Provider value={{ draft, base: at, fields: own }}>
              <ServerGroupForm />
            </FormContext.Provider>
          ),
        }}
      />
    </>
  )
}

function titleOf(cluster: Json, application: string): string {
  const parts = [cluster['application'] ?? application, cluster['stack'], cluster['freeFormDetails']]
  return parts.flatMap((part) => textOf(part) ?? []).join('-')
}

const shown = [
  ...['cloudProvider', 'credentials', 'regions', 'application', 'stack', 'freeFormDetails'],
  ...['imageId', 'imageArtifactId', 'capacity', 'preferSourceCapacity', 'loadBalancers', 'securityGroups'],
  ...strategyFields,
]

/** One server group, of a `deploy` stage or of a stage that creates one. */
export function ServerGroupForm() {
  const { draft, base, fields, holder } = useForm()
  return (
    <>
      <div class="form-row">
        <F name="credentials" label="Account" help="" />
        <F name="regions" label="Region" help="" />
      </div>
      <div class="form-row">
        <F name="stack" label="Stack" placeholder="test" help="Tells environments apart." />
        <F name="freeFormDetails" label="Detail" help="Tells parts of a stack apart." />
      </div>
      <p class="verdict muted">
        Creates <code>{titleOf(holder, draft.application)}-v000</code>, then v001, and so on.
      </p>
      <ImageFields />
      <fieldset class="form-group is-row">
        <legend>Instances</legend>
        <F name="capacity.min" label="At least" help="" />
        <F name="capacity.desired" label="Now" help="" />
        <F name="capacity.max" label="At most" help="" />
      </fieldset>
      <F
        name="preferSourceCapacity"
        label="Take the size of the running group"
        help="Keeps what was resized by hand. The numbers above count for the first deployment."
      />
      <F name="loadBalancers" label="Load balancers" help="They send traffic to the instances that are healthy." />
      <F name="securityGroups" label="Security groups" help="Who may reach the instances." />
      <StrategyFields />
      <MoreFields draft={draft} base={base} fields={fields.filter(({ name }) => !shown.includes(name))} known={knownOf(fields)} />
    </>
  )
}

function knownOf(fields: readonly { readonly name: string; readonly otherNames?: readonly string[] }[]): readonly string[] {
  return fields.flatMap(({ name, otherNames = [] }) => [name, ...otherNames])
}

const imageKeys = ['imageId', 'amiName', 'image', 'imageArtifactId']

function ImageFields() {
  const { draft, base, holder } = useForm()
  const isGiven = imageKeys.some((key) => holder[key] !== undefined)
  const [wantsGiven, setWantsGiven] = useState(isGiven)
  const sources = imageSourcesOf(draft.definition.value, Number(base[1]))
  const choose = (way: 'given' | 'found') => {
    setWantsGiven(way === 'given')
    if (way === 'given' || !isGiven) return
    const without = (definition: Json) =>
      imageKeys.reduce((whole, key) => withValueAt(whole, [...base, key], undefined), definition)
    draft.change('Take the image at hand', without)
  }
  const chosen = isGiven || wantsGiven || sources.length === 0 ? 'given' : 'found'
  return (
    <>
      {sources.length > 0 && (
        <Ways
          label="Image"
          ways={[
            { id: 'found', label: 'The one at hand', help: `From ${sources.join(' or ')}.` },
            { id: 'given', label: 'One by name', help: 'The same in every run, or an expression.' },
          ]}
          chosen={chosen}
          onChoose={choose}
        />
      )}
      {chosen === 'given' && (
        <F
          name="imageId"
          label={sources.length > 0 ? 'Name of the image' : 'Image'}
          help="Search by name or version. ${parameters.image} lets each start choose."
        />
      )}
    </>
  )
}
