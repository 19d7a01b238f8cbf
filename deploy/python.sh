# Sourced by up, test, translate and bench: sets $python to one that is new enough, or says why not and exits.

python=
for candidate in python3.11 python3.12 python3.13 python3.14 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    found=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || found=
    case "${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}" in
        tr*) echo "Konak için Python 3.11 ya da daha yenisi gerekir; bulunan: ${found:-yok}." >&2 ;;
        *) echo "Konak needs Python 3.11 or newer; found: ${found:-none}." >&2 ;;
    esac
    exit 1
fi
