export const manifestWords = {
  // The page of an object
  tabs: {
    status: 'Status',
    logs: 'Logs',
    history: 'History',
    events: 'Events',
    manifest: 'Manifest',
    artifacts: 'Artifacts',
    labels: 'Labels',
  },
  kind: 'Kind',
  namespace: 'Namespace',
  noNamespace: 'none, it is of the whole cluster',
  images: 'Images',
  message: 'Message',
  container: 'Container',
  image: 'Image',
  containerStates: {
    running: 'running',
    waiting: 'waiting',
    done: 'done',
    failed: 'failed',
    unknown: 'not started',
  },
  exited: (code: number, reason: string | undefined) =>
    reason === undefined ? `It ended with code ${code}.` : `It ended with code ${code} (${reason}).`,
  lastExit: (code: number, reason: string | undefined) =>
    `The run before ended with code ${code}${reason === undefined ? '' : ` (${reason})`}.`,
  pods: 'Pods',

  // Rollout
  rolloutText: (done: number, desired: number) => `${done.toLocaleString()} of ${desired.toLocaleString()}`,

  // History
  revision: 'Revision',
  revisionNumber: (number: number) => `Revision ${number}`,

  // Actions
  editOf: (name: string) => `Edit ${name}`,
  undoRollout: 'Undo rollout',
  replicas: 'Replicas',

  // Edit and plan
  newTitle: 'Deploy manifests',
  planHeads: { field: 'Field', before: 'In the cluster', after: 'After the deployment' },
  changes: {
    create: 'is created',
    update: 'changes',
    none: 'stays as it is',
    error: 'is refused',
  },
  fieldChanges: { added: 'added', changed: 'changed', removed: 'removed' },
  planCounts: (counts: readonly (readonly [count: number, word: string])[]) =>
    counts.map(([count, word]) => `${count.toLocaleString()} ${word}`).join(', '),

  // Drift and accounts
  driftTitle: (count: number) =>
    count === 1
      ? 'One deployed object was changed since its deployment.'
      : `${count.toLocaleString()} deployed objects were changed since their deployment.`,
  driftMore: (count: number) => `and ${count.toLocaleString()} more`,

  // Example
} as const
