/** Certificates and challenges as the agent gets them. */
import { join } from 'node:path'
import { frontFolderName } from '@fairlead/base/names/agent-files.ts'
import type { DesiredCertificate, DesiredChallenges } from '@fairlead/base/net/agent-protocol.ts'
import type { Desired } from '../desired.ts'

export function filesOf(folder: string, digest: string) {
  return {
    certificateFile: join(folder, `${digest}.crt`),
    keyFile: join(folder, `${digest}.key`),
  }
}

export function toDesiredCertificates(desired: Desired, dataDir: string): DesiredCertificate[] {
  const folder = join(dataDir, frontFolderName)
  return [...desired.all('certificates')].map(({ hosts, digest }) => ({
    hosts,
    ...filesOf(folder, digest),
  }))
}

export function toDesiredChallenges(desired: Desired): DesiredChallenges {
  const http: Record<string, string> = {}
  const tls: Record<string, { certificate: string; key: string }> = {}
  for (const challenge of desired.all('challenges')) {
    if (challenge.kind === 'http-01') http[challenge.name] = challenge.content
    else tls[challenge.name] = { certificate: challenge.certificate, key: challenge.key }
  }
  return { http, tls }
}
