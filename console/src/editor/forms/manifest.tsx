/** The form of a deployment of manifests: where they come from, and how traffic moves. */
import { useCloudProviders } from '../../api/cloud-providers.ts'
import { textOf } from '../../model/read.ts'
import { useAccounts } from '../choices.ts'
import { F, Fold, useForm, type Way, Ways } from './form.tsx'

type Strategy = 'none' | 'bluegreen' | 'highlander'

export const manifestFields = [
  ...['cloudProvider', 'account', 'source', 'manifests', 'manifestArtifactId', 'namespaceOverride', 'trafficManagement'],
  ...['rollback', 'skipExpressionEvaluation', 'stableManifestTimeoutMinutes'],
]

const strategies: readonly Way<Strategy>[] = [
  { id: 'none', label: 'The cluster decides', help: 'Deployments roll by themselves. Mostly right.' },
  { id: 'bluegreen', label: 'Blue/green', help: 'Services switch to the new replica set; the old one stays.' },
  { id: 'highlander', label: 'Highlander', help: 'Old replica sets are deleted once the new one is up.' },
]

export function ManifestForm() {
  const { get, set } = useForm()
  const providers = useCloudProviders()
  const accounts = useAccounts().filter(({ type }) => providers.some(({ id, hasManifests }) => id === type && hasManifests))
  const isArtifact = get('source') === 'artifact'
  return (
    <>
      <F name="account" label="Account" choices={accounts.map(({ name }) => ({ value: name }))} help="" />
      <Ways
        label="Manifests from"
        ways={[
          { id: 'text', label: 'This stage', help: 'Written here. Images of earlier stages are put in.' },
          { id: 'artifact', label: 'An artifact', help: 'A file of a repository, or what a bake has rendered.' },
        ]}
        chosen={isArtifact ? 'artifact' : 'text'}
        onChoose={(source) => set('source', source)}
      />
      {isArtifact ? (
        <F name="manifestArtifactId" label="Artifact" required help="Expected by the pipeline, or produced by a stage before." />
      ) : (
        <F name="manifests" label="Manifests" required help="YAML, with --- between objects. Expressions are evaluated." />
      )}
      <F name="namespaceOverride" label="Namespace" placeholder="of each manifest" help="Replaces that of all manifests." />
      <Traffic />
      <F name="rollback.onFailure" label="Roll back when it does not become stable" help="Brings the former revision back." />
      <Fold title="Timeout, and expressions">
        <F name="stableManifestTimeoutMinutes" label="Minutes to become stable" help="30 unless given." />
        <F name="skipExpressionEvaluation" label="Leave ${} in manifests as it is" help="For manifests that use it themselves." />
      </Fold>
    </>
  )
}

/** Only replica sets behind services move their traffic here. */
function Traffic() {
  const { draft, base, get } = useForm()
  const isManaged = get('trafficManagement.enabled') === true
  const strategy = textOf(get('trafficManagement.options.strategy')) ?? 'none'
  const choose = (next: Strategy) => {
    const set = (name: string, value: unknown) =>
      draft.set([...base, 'trafficManagement', ...name.split('.')], value, 'Change the strategy')
    set('enabled', next !== 'none')
    set('options.strategy', next)
  }
  const chosen = !isManaged ? 'none' : strategy === 'redblack' ? 'bluegreen' : (strategy as Strategy)
  return (
    <>
      <Ways label="Traffic between versions" ways={strategies} chosen={chosen} onChoose={choose} />
      {isManaged && (
        <F
          name="trafficManagement.options.services"
          label="Services"
          required
          help="Such as “service web”: they send the traffic."
        />
      )}
    </>
  )
}
