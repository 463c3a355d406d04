/** The form of a deployment of manifests: where they come from, and how traffic moves. */
import { textOf } from '../../model/read.ts'
import { type Form, field, fold, oneOf, only } from './form.tsx'

const isArtifact = ({ get }: Form) => get('source') === 'artifact'

const source = oneOf<'text' | 'artifact'>('Manifests from', {
  ways: [
    { id: 'text', label: 'This stage', help: 'Written here. Images of earlier stages are put in.' },
    { id: 'artifact', label: 'An artifact', help: 'A file of a repository, or what a bake has rendered.' },
  ],
  chosen: (form) => (isArtifact(form) ? 'artifact' : 'text'),
  set: (id) => ({ source: id }),
  shows: ['source'],
})

const isManaged = ({ get }: Form) => get('trafficManagement.enabled') === true

/** Only replica sets behind services move their traffic here. */
const traffic = oneOf<'none' | 'bluegreen' | 'highlander'>('Traffic between versions', {
  ways: [
    { id: 'none', label: 'The cluster decides', help: 'Deployments roll by themselves. Mostly right.' },
    { id: 'bluegreen', label: 'Blue/green', help: 'Services switch to the new replica set; the old one stays.' },
    { id: 'highlander', label: 'Highlander', help: 'Old replica sets are deleted once the new one is up.' },
  ],
  chosen: (form) => {
    const strategy = textOf(form.get('trafficManagement.options.strategy'))
    if (!isManaged(form) || strategy === undefined || strategy === 'none') return 'none'
    return strategy === 'highlander' ? 'highlander' : 'bluegreen'
  },
  set: (id) => ({ 'trafficManagement.enabled': id !== 'none', 'trafficManagement.options.strategy': id }),
  shows: ['trafficManagement'],
})

export const manifestForm = [
  field('account', 'Account', '', { choicesFrom: 'manifest-accounts' }),
  source,
  only(
    isArtifact,
    field('manifestArtifactId', 'Artifact', 'Expected by the pipeline, or produced by a stage before.', { required: true }),
  ),
  only(
    (form) => !isArtifact(form),
    field('manifests', 'Manifests', 'YAML, with --- between objects. Expressions are evaluated.', { required: true }),
  ),
  field('namespaceOverride', 'Namespace', 'Replaces that of all manifests.', { placeholder: 'of each manifest' }),
  traffic,
  only(
    isManaged,
    field('trafficManagement.options.services', 'Services', 'Such as “service web”: they send the traffic.', { required: true }),
  ),
  field('rollback.onFailure', 'Roll back when it does not become stable', 'Brings the former revision back.'),
  fold(
    'Timeout, and expressions',
    field('stableManifestTimeoutMinutes', 'Minutes to become stable'),
    field('skipExpressionEvaluation', 'Leave ${} in manifests as it is', 'For manifests that use it themselves.'),
  ),
]
