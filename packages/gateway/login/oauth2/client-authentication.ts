/** Client authentication at a provider. */
import * as oauth from 'oauth4webapi'
import { loadPrivateKey } from './private-key.ts'
import type { Registration } from './registration.ts'

/** `query` puts nothing here: identifier and secret go into the address of the request. */
export function createClientAuthentication(registration: Registration): oauth.ClientAuth {
  const { clientAuthentication, clientSecret = '', privateKey } = registration
  switch (clientAuthentication) {
    case 'client_secret_basic':
      return basic(registration.clientId, clientSecret)
    case 'client_secret_post':
      return oauth.ClientSecretPost(clientSecret)
    case 'client_secret_jwt':
      return oauth.ClientSecretJwt(clientSecret)
    case 'private_key_jwt':
      return signed(privateKey)
    case 'query':
      return () => {}
    case 'none':
      return oauth.None()
  }
}

/**
 * Both parts are encoded as in a form, where Java leaves `-_.*` alone; providers that do not decode see identifiers such as
 * `1-2.apps.example` as they are.
 */
function basic(clientId: string, clientSecret: string): oauth.ClientAuth {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  const credentials = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')
  return (_server, _client, _body, headers) => headers.set('authorization', `Basic ${credentials}`)
}

function signed(privateKey: Registration['privateKey']): oauth.ClientAuth {
  if (privateKey === undefined) throw new Error('private_key_jwt needs a private key')
  const key = loadPrivateKey(privateKey.file)
  return oauth.PrivateKeyJwt({ key, ...(privateKey.id !== undefined && { kid: privateKey.id }) })
}
