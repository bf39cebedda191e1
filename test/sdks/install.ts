/**
 * Installs what only a few tests use: the libraries of test/sdks, such as the SDKs of model providers, and the client
 * generators of test/clients. They are as many as all other packages of the project. The package-lock.json in each
 * folder pins them.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SDK_FOLDERS } from '../suites.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Installs the libraries, unless exactly these are installed, and returns their folder. */
export function installSdks(): string {
  const modules = install(join(ROOT, 'test/sdks'))
  for (const folder of SDK_FOLDERS) {
    linkModules(modules, join(ROOT, 'test', folder))
    linkModules(modules, join(ROOT, 'build/test', folder))
  }
  return modules
}

/** Installs the client generators, unless exactly these are installed, and returns their folder. */
export const installGenerators = (): string => install(join(ROOT, 'test/clients'))

/** Installs the packages of a folder that has a package-lock.json, unless exactly these are installed. */
export function install(folder: string): string {
  const modules = join(folder, 'node_modules')
  const lock = join(folder, 'package-lock.json')
  // The copy that the last complete installation left behind.
  const installed = join(modules, '.installed-lock.json')
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== readFileSync(lock, 'utf8')) {
    // Some packages only claim to need a later Node, so npm's warnings about versions are not shown.
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: folder, stdio: 'inherit' })
    copyFileSync(lock, installed)
  }
  return modules
}

/** Lets the files of a folder import the libraries. */
function linkModules(modules: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const link = join(folder, 'node_modules')
  if (!existsSync(link)) symlinkSync(modules, link)
}
