/** Artifacts: the accounts that hold them, their names and versions, and their content. */
import { z } from 'zod'
import { Artifact } from '../../environments/pipeline-models.ts'
import { AnyObject, bytes, TextList, textModel } from '../../json/schemas.ts'
import { get, operationsWith, put } from '../declare.ts'
import { readsApplication, sharedKnowledge } from '../demands.ts'
import { type Operation, StreamedAnswer } from '../operation.ts'

const storedPath = '/artifacts/content-address/{application}/{hash}'

const ArtifactAccount = z.looseObject({ name: z.string(), types: z.array(z.string()).nullish() }).meta({ id: 'ArtifactAccount' })

const ofCloud = operationsWith({ forward: 'clouddriver' })

export const artifactOperations: Operation[] = [
  ofCloud.get('getArtifactCredentialsUsingGET', '/artifacts/credentials', {
    demands: sharedKnowledge,
    summary: 'List artifact accounts',
    description: 'Accounts from which artifacts can be fetched.',
    answer: z.array(ArtifactAccount),
  }),
  put('getArtifactUsingPUT', '/artifacts/fetch', {
    demands: sharedKnowledge,
    summary: 'Fetch an artifact',
    body: { schema: AnyObject, shown: Artifact, required: true },
    handle: async ({ body }) =>
      new StreamedAnswer('clouddriver', { method: 'PUT', path: '/artifacts/fetch', body, headers: { accept: '*/*' } }),
    answer: bytes.describe('The content of the artifact.'),
    answerType: 'application/octet-stream',
  }),
  ofCloud.get('getArtifactNamesUsingGET', '/artifacts/account/{accountName}/names', {
    demands: sharedKnowledge,
    summary: 'List artifacts of an account',
    query: { type: textModel },
    answer: TextList,
  }),
  ofCloud.get('getArtifactVersionsUsingGET', '/artifacts/account/{accountName}/versions', {
    demands: sharedKnowledge,
    summary: 'List versions of an artifact',
    query: { type: textModel, artifactName: textModel },
    answer: TextList,
  }),
  get('getPackageVersionsUsingGET', '/artifacts/{provider}/{packageName}', {
    demands: sharedKnowledge,
    summary: 'List versions of a package',
    description: 'Versions of a package that the build service has seen.',
    query: { releaseStatus: textModel.optional() },
    forward: 'igor',
    whenDisabled: [],
    answer: TextList,
  }),
  get('getPackageArtifactUsingGET', '/artifacts/{provider}/{packageName}/{version}', {
    demands: sharedKnowledge,
    summary: 'Get a version of a package',
    forward: 'igor',
    missingWhenDisabled: true,
    answer: Artifact,
  }),
  ofCloud.get('getStoredArtifactUsingGET', storedPath, {
    demands: readsApplication,
    summary: 'Get a stored artifact',
    description: 'An artifact that a pipeline stored, by the hash of its content.',
    answer: Artifact,
  }),
]
