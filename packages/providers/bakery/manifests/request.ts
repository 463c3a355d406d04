/** Requests for manifests: the fields of all types. */

import { isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { commaList } from '@fairlead/base/names/comma-list.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { lenientText } from '@fairlead/ports/requests/lenient-text.ts'
import { z } from 'zod'

const flag = z.unknown().optional().transform(isTrue)
const artifact = z.record(z.string(), z.unknown())
const artifacts = z
  .array(artifact)
  .nullish()
  .transform((all) => all ?? [])
const optionalArtifact = artifact.nullish().transform((one) => one ?? undefined)

/** Fields that mean something here; others are ignored. */
const ManifestRequest = z.object({
  outputName: lenientText,
  outputArtifactName: lenientText,
  inputArtifacts: artifacts,
  inputArtifact: optionalArtifact,
  overrides: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((all) => all ?? {}),
  rawOverrides: flag,
  namespace: lenientText,
  apiVersions: z
    .union([lenientText, z.array(z.string())])
    .transform((versions) =>
      (Array.isArray(versions) ? versions : [versions ?? '']).flatMap(commaList),
    ),
  kubeVersion: lenientText,
  includeCRDs: flag,
  helmChartFilePath: lenientText,
  helmfileFilePath: lenientText,
  kustomizeFilePath: lenientText,
  environment: lenientText,
  stateValuesArtifacts: artifacts,
})
export type ManifestRequest = z.output<typeof ManifestRequest>

/** @throws {PortError} 400 naming the fields that are wrong */
export function parseManifestRequest(body: unknown): ManifestRequest {
  const parsed = ManifestRequest.safeParse(body ?? {})
  if (parsed.success) return parsed.data
  throw new PortError(
    400,
    `The request for a manifest is not usable: ${describeIssues(parsed.error)}.`,
  )
}

/** For messages: the name of an artifact, or what there is instead. */
export function describeArtifact({ name, reference, type }: JsonObject): string {
  const shown = [name, type === 'embedded/base64' ? undefined : reference, type].find(
    (text) => typeof text === 'string' && text !== '',
  )
  return JSON.stringify(shown ?? '(no name)')
}
