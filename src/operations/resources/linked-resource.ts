/** A resource of the infrastructure together with its account, whose fields fill the operator's links. */
import { pathTo } from '../../http/encode-path.ts'
import type { JsonObject } from '../../json/values.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import type { OperationRequest } from '../operation.ts'
import { checkObject } from '../upstream-shape.ts'

/**
 * Asks for the account of the path first, then for the resource: a caller who may not read the account learns nothing.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the call that failed
 */
export async function loadWithAccount(
  request: OperationRequest,
  call: UpstreamCall,
): Promise<{ account: JsonObject; resource: unknown }> {
  const account = checkObject(
    await request.json('clouddriver', { path: pathTo`/credentials/${request.path['account'] as string}` }),
    'clouddriver',
  )
  return { account, resource: await request.json('clouddriver', call) }
}
