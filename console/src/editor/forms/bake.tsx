/** The form of bakes: where the files come from, how they become an image, and its name. */
import { standalone } from '../../../../src/settings/standalone.ts'
import type { Form } from '../fields.tsx'
import { field, oneOf, only, row } from './form.tsx'

const git = 'extendedAttributes.git'
const directory = 'extendedAttributes.directory'

function sourceOf({ get }: Form): 'git' | 'directory' | 'package' {
  if (get(git) !== undefined) return 'git'
  return get(directory) === undefined ? 'package' : 'directory'
}

/** Otherwise another bakery makes the images. */
function isHere({ holder: { cloudProviderType, cloudProvider } }: Form): boolean {
  const provider = cloudProviderType ?? cloudProvider
  return provider === undefined || provider === standalone.provider
}

const source = oneOf('Files from', {
  ways: [
    { id: 'git', label: 'A Git repository', help: 'The commit of the trigger, or a branch.' },
    { id: 'directory', label: 'A folder', help: 'On the machine of Fairlead.' },
    { id: 'package', label: 'A package', help: 'A file of the folder for packages, by the name below.' },
  ],
  chosen: sourceOf,
  set: (id) => ({
    [git]: id === 'git' ? '' : undefined,
    [directory]: id === 'directory' ? '' : undefined,
    'extendedAttributes.revision': undefined,
    'extendedAttributes.path': undefined,
  }),
})

const repository = { required: true, isKept: true, placeholder: 'https://git.example.com/shop/web.git' }
const folder = { required: true, isKept: true, placeholder: '/srv/shop' }

export const bakeForm = [
  only(
    isHere,
    source,
    only(
      (form) => sourceOf(form) === 'git',
      field(git, 'Repository', 'An address with https://, ssh:// or git@, or a path.', repository),
      row(
        field('extendedAttributes.revision', 'Revision', 'Branch, tag or commit.', { placeholder: 'of the trigger' }),
        field('extendedAttributes.path', 'Folder in it', 'For several programs.', { placeholder: 'the whole repository' }),
      ),
    ),
    only((form) => sourceOf(form) === 'directory', field(directory, 'Folder', 'The whole path.', folder)),
    field('baseOs', 'Template', 'How the files become an image.', { required: true }),
    row(
      field('package', 'Name of the image', 'Mostly that of the application.', { placeholder: 'shop', required: true }),
      field('amiSuffix', 'Version', 'Leave it empty for a new one in each run.', { placeholder: 'time and commit' }),
    ),
  ),
  only(
    (form) => !isHere(form),
    field('regions', 'Regions', 'An image is baked in each of them.'),
    field('package', 'Packages', 'Names, separated by blanks.', { required: true }),
    field('baseOs', 'Base image'),
  ),
]
