/** Artifacts: the accounts that hold them, their names and versions, and their content. */

import { z } from 'zod'
import { readsApplication, sharedKnowledge } from '../demands.ts'
import { Artifact } from '../models/pipelines.ts'
import { type Operation, StreamedAnswer } from '../operation.ts'
import { AnyObject, bytes, TextList, text } from '../schemas.ts'

const storedPath = '/artifacts/content-address/{application}/{hash}'

const ArtifactAccount = z.looseObject({ name: z.string(), types: z.array(z.string()).nullish() }).meta({ id: 'ArtifactAccount' })

export const artifactOperations: Operation[] = [
  {
    id: 'getArtifactCredentialsUsingGET',
    method: 'GET',
    path: '/artifacts/credentials',
    demands: sharedKnowledge,
    summary: 'List artifact accounts',
    description: 'Accounts from which artifacts can be fetched.',
    forward: 'clouddriver',
    answer: z.array(ArtifactAccount),
  },
  {
    id: 'getArtifactUsingPUT',
    method: 'PUT',
    path: '/artifacts/fetch',
    demands: sharedKnowledge,
    summary: 'Fetch an artifact',
    description: 'The content of an artifact.',
    body: { schema: AnyObject, shown: Artifact, required: true },
    handle: async ({ body }) =>
      new StreamedAnswer('clouddriver', { method: 'PUT', path: '/artifacts/fetch', body, headers: { accept: '*/*' } }),
    answer: bytes.describe('The content of the artifact.'),
    answerType: 'application/octet-stream',
  },
  {
    id: 'getArtifactNamesUsingGET',
    method: 'GET',
    path: '/artifacts/account/{accountName}/names',
    demands: sharedKnowledge,
    summary: 'List artifacts of an account',
    query: { type: text },
    forward: 'clouddriver',
    answer: TextList,
  },
  {
    id: 'getArtifactVersionsUsingGET',
    method: 'GET',
    path: '/artifacts/account/{accountName}/versions',
    demands: sharedKnowledge,
    summary: 'List versions of an artifact',
    query: { type: text, artifactName: text },
    forward: 'clouddriver',
    answer: TextList,
  },
  {
    id: 'getPackageVersionsUsingGET',
    method: 'GET',
    path: '/artifacts/{provider}/{packageName}',
    demands: sharedKnowledge,
    summary: 'List versions of a package',
    description: 'Versions of a package that the build service has seen.',
    query: { releaseStatus: text.optional() },
    forward: 'igor',
    whenDisabled: [],
    answer: TextList,
  },
  {
    id: 'getPackageArtifactUsingGET',
    method: 'GET',
    path: '/artifacts/{provider}/{packageName}/{version}',
    demands: sharedKnowledge,
    summary: 'Get a version of a package',
    forward: 'igor',
    missingWhenDisabled: true,
    answer: Artifact,
  },
  {
    id: 'getStoredArtifactUsingGET',
    method: 'GET',
    path: storedPath,
    demands: readsApplication,
    summary: 'Get a stored artifact',
    description: 'An artifact that a pipeline stored, by the hash of its content.',
    forward: 'clouddriver',
    answer: Artifact,
  },
]
