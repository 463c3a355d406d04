/** Secrets of applications and accounts: set, listed without values, deleted, and who uses them. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { model, nothing } from '@fairlead/base/json/schemas.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { operationsWith } from '../declare.ts'
import {
  type Demands,
  readsAccount,
  readsApplication,
  writesAccount,
  writesApplication,
} from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const version = z.int().describe('Grows with each new value.')
const time = z.number().describe('Milliseconds since the epoch.')
const place = z.string().describe('What uses it: a stage, a build, a server group.')

const Secret = model('Secret', {
  name: z.string(),
  scope: z.enum(['application', 'account']),
  owner: z.string().describe('The application or account.'),
  version,
  setTime: time,
  setBy: z.string().describe('The user who has set the value.'),
  note: z.string().nullish(),
  lastUseTime: time.nullish(),
  isMasked: z
    .boolean()
    .nullish()
    .describe('False for a value that is too short or too common to be masked in texts.'),
})

const SecretValue = model('SecretValue', {
  value: z.string().min(1).describe('No operation returns it.'),
  note: z.string().nullish().describe('For people, who can read it.'),
})

const SecretUses = model('SecretUses', {
  name: z.string(),
  version,
  running: z
    .array(z.looseObject({ place, version, count: z.int(), isCurrent: z.boolean() }))
    .describe('What runs with a version at this moment.'),
  uses: z
    .array(
      z.looseObject({
        version,
        isCurrent: z.boolean(),
        place,
        user: z.string(),
        count: z.int(),
        firstTime: time,
        lastTime: time,
      }),
    )
    .describe('The latest uses, newest first.'),
})

interface Owner {
  readonly kind: 'application' | 'account'
  readonly word: 'Application' | 'Account'
  readonly reads: Demands
  readonly writes: Demands
}

const owners: readonly Owner[] = [
  { kind: 'application', word: 'Application', reads: readsApplication, writes: writesApplication },
  { kind: 'account', word: 'Account', reads: readsAccount, writes: writesAccount },
]

export const secretOperations: Operation[] = owners.flatMap(operationsOf)

function operationsOf({ kind, word, reads, writes }: Owner): Operation[] {
  const path = `/${kind}s/{${kind}}/secrets`
  const servicePath = `/secrets/${kind}/{${kind}}`
  const unknown = { 404: 'There is no such secret, or the definition store is external.' }
  const { get, put, remove } = operationsWith({
    on404: { message: describeAbsence },
    errors: unknown,
  })
  return [
    get(`list${word}SecretsUsingGET`, path, `List secrets of an ${kind}`, {
      demands: reads,
      description: `Names and versions of the secrets of an ${kind}, with who has set them and when; never their values.`,
      forward: `front50 ${servicePath}`,
      answer: z.array(Secret),
    }),
    put(`set${word}SecretUsingPUT`, `${path}/{name}`, `Set a secret of an ${kind}`, {
      demands: writes,
      description:
        'Creates a secret, or gives it a new value as a new version. What runs keeps the version that it was given.',
      body: SecretValue,
      handle: (request, platform) => setSecret(kind, request, platform),
      answer: Secret,
    }),
    remove(`delete${word}SecretUsingDELETE`, `${path}/{name}`, `Delete a secret of an ${kind}`, {
      demands: writes,
      description:
        'What refers to it fails from then on; what runs keeps the value that it was given.',
      forward: `front50 ${servicePath}/{name}`,
      answer: nothing,
    }),
    get(`get${word}SecretUsesUsingGET`, `${path}/{name}/uses`, `List uses of an ${kind} secret`, {
      demands: reads,
      description:
        'Who has used which version, where and when, and what still runs with an older version.',
      forward: `front50 ${servicePath}/{name}/uses`,
      answer: SecretUses,
    }),
  ]
}

/** An external store would not know what to do with the value, and might log it. */
async function setSecret(
  kind: Owner['kind'],
  request: OperationRequest,
  { upstreams }: Platform,
): Promise<unknown> {
  if (!upstreams.traitsOf('front50').keepsSecrets)
    throw new GatewayError('NOT_FOUND', describeAbsence(request))
  const { name = '', [kind]: owner = '' } = request.path
  return request.json('front50', {
    method: 'PUT',
    path: pathTo`/secrets/${kind}/${owner}/${name}`,
    body: request.body,
  })
}

function describeAbsence({ path }: OperationRequest): string {
  const what =
    path['name'] === undefined ? 'There are no secrets.' : `There is no secret "${path['name']}".`
  return `${what} An external definition store (services.front50) keeps none: use the embedded one, or refer to Vault or files.`
}
