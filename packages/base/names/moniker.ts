/** Names of server groups, `app-stack-detail-v000`, and their parts (docs/contracts/infrastructure.md#names). */

export interface Moniker {
  readonly app: string | null
  readonly stack: string | null
  readonly detail: string | null
  readonly cluster: string | null
  readonly sequence: number | null
}

/** The owner of what belongs to no application. */
export const noMoniker: Moniker = {
  app: null,
  stack: null,
  detail: null,
  cluster: null,
  sequence: null,
}

export interface NameParts {
  readonly app: string
  readonly stack?: string
  readonly detail?: string
}

const pushPattern = /^(.+)-v(\d{3,6})$/
const clusterPattern = /^[A-Za-z0-9._]+(?:-[A-Za-z0-9._]*(?:-[A-Za-z0-9._\-~^]*)?)?$/
const wordPattern = /^[A-Za-z0-9._]+$/
const detailPattern = /^[A-Za-z0-9._\-~^]+$/

/** Every part is null where the name does not follow the grammar. */
export function parseMoniker(name: string): Moniker {
  const [, head, push] = pushPattern.exec(name) ?? []
  const cluster = head ?? name
  if (!clusterPattern.test(cluster)) return noMoniker
  const [app = '', stack = '', ...rest] = cluster.split('-')
  return {
    app,
    stack: stack === '' ? null : stack,
    detail: rest.join('-') === '' ? null : rest.join('-'),
    cluster,
    sequence: push === undefined ? null : Number(push),
  }
}

/** The name without the number at its end. */
export function withoutSequence(name: string): string {
  return pushPattern.exec(name)?.[1] ?? name
}

/** `app`, `app-stack`, `app-stack-detail` or `app--detail`. */
export function clusterName({ app, stack = '', detail = '' }: NameParts): string {
  if (detail !== '') return `${app}-${stack}-${detail}`
  return stack === '' ? app : `${app}-${stack}`
}

/** Longest name of a server group, with its number: as on AWS, and as long as file names may be. */
const maxNameLength = 255

/** What is wrong with the parts of a new server group's name: a sentence, or undefined. */
export function describeNameProblem({
  app,
  stack = '',
  detail = '',
}: NameParts): string | undefined {
  const { length } = serverGroupName(clusterName({ app, stack, detail }), 0)
  if (length > maxNameLength) {
    return (
      `The name of the server group would have ${length} characters; ${maxNameLength} are allowed. ` +
      'Shorten the stack or the detail (freeFormDetails).'
    )
  }
  if (!wordPattern.test(app))
    return `The application "${app}" may contain letters, digits, "." and "_" only.`
  if (stack !== '' && !wordPattern.test(stack))
    return `The stack "${stack}" may contain letters, digits, "." and "_" only.`
  if (detail !== '' && !detailPattern.test(detail)) {
    return `The detail "${detail}" may contain letters, digits, ".", "_", "-", "~" and "^" only.`
  }
  return undefined
}

/** `v000` to `v999`, and further digits where a number needs them. */
export function serverGroupName(cluster: string, sequence: number): string {
  return `${cluster}-v${String(sequence).padStart(3, '0')}`
}
