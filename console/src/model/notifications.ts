/** Channels of notifications, of applications as of pipelines and stages. */

export const channels = [
  'email',
  'slack',
  'googlechat',
  'microsoftteams',
  'webhook',
  'githubStatus',
  'gitlabStatus',
  'giteaStatus',
  'sms',
  'pubsub',
]

/** Spinnaker writes some in capitals where definitions have small letters. */
export function toChannel(notificationType: string): string {
  return notificationType === notificationType.toUpperCase() ? notificationType.toLowerCase() : notificationType
}
