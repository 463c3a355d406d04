/** Objects of S3 and entries of AWS Secrets Manager, signed with credentials of the environment or of a pod's role. */
import { readFile } from 'node:fs/promises'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldOf } from '@fairlead/base/json/values.ts'
import { type AwsCredentials, encodeForAws, signAws } from '@fairlead/base/net/aws-signature.ts'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import type { EnvironmentVariables } from '../environment.ts'
import { callStore, parseStoreAnswer } from './call-store.ts'
import {
  type EngineReference,
  paramOf,
  SecretError,
  type SecretPlaces,
  variableOf,
} from './secret-reference.ts'

/** The object of `s3!r:region!b:bucket!f:path`. @throws {SecretError} */
export async function readS3Object(
  reference: EngineReference,
  places: SecretPlaces,
): Promise<Buffer> {
  const region = paramOf(reference, 'r', 'region')
  const env = await withCredentials(places.env, region)
  const bucket = paramOf(reference, 'b', 'bucket')
  const path = [bucket, ...paramOf(reference, 'f', 'path of the object').split('/')]
    .map(encodeForAws)
    .join('/')
  const url = new URL(`${endpointOf(env, 'S3', `s3.${region}`)}/${path}`)
  return await callStore({
    name: 'S3',
    url,
    headers: signAws({
      url,
      service: 's3',
      region,
      body: '',
      credentials: credentialsOf(env),
      now: new Date(),
    }),
    advice: {
      403: `allow s3:GetObject for it, or correct the credentials${env['AWS_SESSION_TOKEN'] ? ', which may have expired' : ''}`,
      404: `the bucket "${bucket}" has no such object; correct !b: or !f:`,
      301: `the bucket is in another region; correct !r:`,
    },
  })
}

/** The value of `secrets-manager!r:region!s:name`; with `!k:` that of the key. @throws {SecretError} */
export async function readSecretsManager(
  reference: EngineReference,
  places: SecretPlaces,
): Promise<Buffer> {
  const region = paramOf(reference, 'r', 'region')
  const env = await withCredentials(places.env, region)
  const name = paramOf(reference, 's', 'name of the secret')
  const url = new URL(`${endpointOf(env, 'SECRETS_MANAGER', `secretsmanager.${region}`)}/`)
  const body = JSON.stringify({ SecretId: name })
  const extra = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'secretsmanager.GetSecretValue',
  }
  const headers = signAws({
    url,
    service: 'secretsmanager',
    region,
    body,
    credentials: credentialsOf(env),
    now: new Date(),
    headers: extra,
  })
  const denied = `correct the name "${name}" and the credentials, and allow secretsmanager:GetSecretValue for it`
  const bytes = await callStore({
    name: 'AWS Secrets Manager',
    url,
    headers,
    body,
    advice: { 400: denied, 403: denied },
  })
  const answer = parseStoreAnswer<{ SecretString?: string; SecretBinary?: string }>(
    'AWS Secrets Manager',
    bytes,
  )
  const key = reference.params.get('k')
  if (key === undefined)
    return Buffer.from(answer.SecretString ?? Buffer.from(answer.SecretBinary ?? '', 'base64'))
  const value = fieldOf(parseIfJson(answer.SecretString ?? ''), key)
  if (value === undefined)
    throw new SecretError(`the secret "${name}" has no key "${key}"; correct !k:, or leave it out`)
  return Buffer.from(String(value))
}

/**
 * The environment with the credentials of the role of a pod (IRSA), where it has none itself.
 *
 * @throws {SecretError}
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
async function withCredentials(
  env: EnvironmentVariables,
  region: string,
): Promise<EnvironmentVariables> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = env
  if (env['AWS_ACCESS_KEY_ID'] || !file || !role) return env
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: env['AWS_ROLE_SESSION_NAME'] || 'fairlead',
    WebIdentityToken: await readToken(file),
  })
  const denied = `let the trust policy of the role ${role} name the service account of this pod`
  const answer = await callStore({
    name: 'AWS STS',
    url: new URL(`${endpointOf(env, 'STS', `sts.${region}`)}/`),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    advice: { 400: `${denied}; its token in ${file} may have expired`, 403: denied },
  })
  const read = (name: string): string => {
    const [value = ''] = (answer.toString('utf8').split(`<${name}>`)[1] ?? '').split('<')
    if (value === '') throw new SecretError(`AWS STS gives no ${name} for the role ${role}`)
    return value.trim()
  }
  return {
    ...env,
    AWS_ACCESS_KEY_ID: read('AccessKeyId'),
    AWS_SECRET_ACCESS_KEY: read('SecretAccessKey'),
    AWS_SESSION_TOKEN: read('SessionToken'),
  }
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SecretError(
      `the token in AWS_WEB_IDENTITY_TOKEN_FILE, ${file}, cannot be read (${code}); mount it for this user`,
    )
  }
}

/** The variables are those of the tools of AWS. */
function endpointOf(env: EnvironmentVariables, service: string, host: string): string {
  const given = env[`AWS_ENDPOINT_URL_${service}`] || env['AWS_ENDPOINT_URL']
  return given
    ? withoutSlash(given)
    : `https://${host}.amazonaws.com${host.includes('.cn-') ? '.cn' : ''}`
}

/** @throws {SecretError} without credentials */
function credentialsOf(env: EnvironmentVariables): AwsCredentials {
  return {
    accessKeyId: variableOf(env, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: variableOf(env, 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: env['AWS_SESSION_TOKEN'],
  }
}
