/** Words of the screens about access, administration, infrastructure and comparison; loaded with the first of them. */
import { plural } from './words.ts'

export const adminWords = {
  // Users
  createdAt: 'Created',

  // Infrastructure
  infrastructure: 'Infrastructure',
  loadBalancers: 'Load balancers',
  images: 'Images',
  securityGroups: 'Security groups',
  networks: 'Networks',
  accounts: 'Accounts',
  loadBalancersEmpty: 'No load balancer. Without one, instances are reached by their own ports.',
  loadBalancer: 'load balancer',
  inService: (count: number) => `${count} in service`,
  detached: 'taken out by hand',
  listeners: 'Listeners',
  healthCheck: 'Health check',
  noMatch: (what: string, filter: string) => `None of the ${what} matches “${filter}”.`,
  gone: (what: string, name: string) => `There is no ${what} ${name}. It may have been deleted.`,
  delete: 'Delete',
  createBalancer: 'Create load balancer',
  createSecurityGroup: 'Create security group',
  edit: 'Edit',
  notEdited: 'There is no form for this provider: edit it where it comes from.',
  editObject: (name: string) => `Edit ${name}`,
  saveObject: (name: string) => `Save ${name}`,
  nameBegins: 'Begins with the application, such as web-front.',
  balancerFields: {
    healthInterval: 'Check every, in seconds',
    healthTimeout: 'Time for a check, in seconds',
    unhealthyThreshold: 'Failed checks until down',
    healthyThreshold: 'Good checks until up',
  },
  listener: (number: number) => `Listener ${number}`,
  isInternal: 'Internal: only this machine connects',
  rule: (number: number) => `Rule ${number}`,
  network: 'network',
  securityGroup: 'security group',
  imageUsed: (names: readonly string[]) => `Runs in ${names.join(', ')}.`,
  deleteAction: (name: string) => `Delete ${name}`,
  putIn: 'Put into traffic',
  putInTask: (id: string, balancer: string) => `Put ${id} into ${balancer}`,
  imagesEmpty: 'No image matches. Bake one in a pipeline, or run fairlead image push.',
  madeFrom: 'Made from',
  jobsEmpty: 'No job. A job is a command that a pipeline runs once.',
  rules: 'Inbound rules',
  noRules: 'No rule: nothing is accepted.',
  protocol: 'Protocol',
  source: 'From',
  accountsEmpty: 'You may read no account. Ask an administrator.',

  // Compare
  field: 'Field',
  parameters: 'Parameters and trigger',
} as const
