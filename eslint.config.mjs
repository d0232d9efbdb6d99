import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['**/node_modules', '**/lib', 'jupyter_kerneldoctor'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/__tests__/**'],
    languageOptions: {
      parserOptions: { project: './tsconfig.json' }
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error'
    }
  },
  {
    files: ['**/*.{ts,tsx}'],
    rules: {
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'max-lines': ['error', 250],
      'prefer-arrow-callback': 'error'
    }
  },
  {
    // What a recording holds is text, never markup.
    files: ['src/**/*.tsx'],
    rules: {
      'no-restricted-syntax': [
        'error',
        'JSXAttribute[name.name="dangerouslySetInnerHTML"]'
      ]
    }
  },
  prettier
);
