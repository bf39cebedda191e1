/**
 * Installs the libraries that only a few tests use, such as the SDKs of model providers, because they are as many as
 * all other packages of the project. package-lock.json in test/sdks pins them.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SDK_FOLDERS } from '../suites.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FOLDER = join(ROOT, 'test/sdks')
const MODULES = join(FOLDER, 'node_modules')
/** The copy of package-lock.json that the last complete installation left behind. */
const INSTALLED = join(MODULES, '.installed-lock.json')

/** Installs the libraries, unless exactly these are installed, and returns their folder. */
export function installSdks(): string {
  const lock = readFileSync(join(FOLDER, 'package-lock.json'), 'utf8')
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== lock) {
    // Some packages only claim to need a later Node, so npm's warnings about versions are not shown.
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: FOLDER, stdio: 'inherit' })
    copyFileSync(join(FOLDER, 'package-lock.json'), INSTALLED)
  }
  for (const folder of SDK_FOLDERS) {
    linkModules(join(ROOT, 'test', folder))
    linkModules(join(ROOT, 'build/test', folder))
  }
  return MODULES
}

/** Lets the files of a folder import the libraries. */
function linkModules(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const link = join(folder, 'node_modules')
  if (!existsSync(link)) symlinkSync(MODULES, link)
}
