/** Makes clients, whose HTTP and TLS would cost each start 20 ms. */
import type { Client } from './client.ts'
import type { Output } from './output.ts'
import type { Target } from './session.ts'

export async function connectTo(target: Target, output: Output): Promise<Client> {
  const { Client: Loaded } = await import('./client.ts')
  return new Loaded(target, output)
}
