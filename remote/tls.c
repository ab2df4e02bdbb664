#include "remote/tls.h"

#include "lib/base/mem.h"
#include "remote/ssl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DAY = 24 * 60 * 60 };

struct dfg_tls {
	SSL_CTX *context;
	char fingerprint[DFG_FINGERPRINT_SIZE];
};

struct dfg_tls_session {
	SSL *ssl;
	BIO *in, *out; /* owned by ssl */
	bool up;
};

/* ALPN: only HTTP/2 is accepted. */
static int choose(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
	unsigned int length, void *arg)
{
	(void)ssl;
	(void)arg;
	for (unsigned int at = 0; at < length; at += in[at] + 1u)
		if (at + 3 <= length && !memcmp(in + at, "\2h2", 3)) {
			*out = in + at + 1;
			*out_length = 2;
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* ALPN of a server for any client: HTTP/2 before HTTP/1.1; a client that names neither gets the protocol that it speaks. */
static int choose_any(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
	unsigned int length, void *arg)
{
	static const char *const known[] = {"\2h2", "\10http/1.1"};
	(void)ssl, (void)arg;
	for (int i = 0; i < 2; i++)
		for (unsigned int at = 0; at < length; at += in[at] + 1u)
			if (in[at] == known[i][0] && at + in[at] < length && !memcmp(in + at, known[i], in[at] + 1u)) {
				*out = in + at + 1;
				*out_length = in[at];
				return SSL_TLSEXT_ERR_OK;
			}
	return SSL_TLSEXT_ERR_NOACK;
}

static bool fingerprint(EVP_PKEY *key, char out[DFG_FINGERPRINT_SIZE])
{
	unsigned char *der = NULL, digest[32];
	size_t length = 0;
	int bytes = dfg_i2d_PUBKEY(key, &der);
	bool good = bytes > 0 && dfg_EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)bytes, digest, &length);
	if (good) {
		int at = snprintf(out, DFG_FINGERPRINT_SIZE, "sha256:");
		dfg_EVP_EncodeBlock((unsigned char *)out + at, digest, (int)length);
	}
	dfg_CRYPTO_free(der, __FILE__, __LINE__);
	return good;
}

/* Self-signed: clients verify only its key. */
static bool fill_certificate(X509 *certificate, EVP_PKEY *key, const EVP_MD *digest)
{
	X509_NAME *name = dfg_X509_get_subject_name(certificate);
	return dfg_X509_set_version(certificate, 2) && dfg_ASN1_INTEGER_set(dfg_X509_get_serialNumber(certificate), 1) &&
		   dfg_X509_gmtime_adj(dfg_X509_getm_notBefore(certificate), -DAY) &&
		   dfg_X509_gmtime_adj(dfg_X509_getm_notAfter(certificate), 365L * DAY) &&
		   dfg_X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"dfg", -1, -1, 0) &&
		   dfg_X509_set_issuer_name(certificate, name) && dfg_X509_set_pubkey(certificate, key) &&
		   dfg_X509_sign(certificate, key, digest);
}

/* digest: of the signature; NULL: the key's algorithm has its own */
static bool fill_context(struct dfg_tls *tls, EVP_PKEY *key, const EVP_MD *digest)
{
	X509 *certificate = dfg_X509_new();
	bool good = certificate && fill_certificate(certificate, key, digest) && fingerprint(key, tls->fingerprint) &&
				dfg_SSL_CTX_use_certificate(tls->context, certificate) &&
				dfg_SSL_CTX_use_PrivateKey(tls->context, key) &&
				dfg_SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) &&
				dfg_SSL_CTX_set_num_tickets(tls->context, 0);
	dfg_X509_free(certificate);
	if (good)
		dfg_SSL_CTX_set_alpn_select_cb(tls->context, choose, NULL);
	return good;
}

/* Each 32 bytes are a key of Ed25519, which needs no arithmetic of ours. */
static EVP_PKEY *make_key(const uint8_t *seed)
{
	enum { SEED = 32 };
	return seed ? dfg_EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SEED)
				: dfg_EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

struct dfg_err *dfg_tls_fingerprint_of(const uint8_t *key_seed, char out_fingerprint[DFG_FINGERPRINT_SIZE])
{
	DFG_TRY(dfg_library_open(&dfg_crypto));
	EVP_PKEY *key = make_key(key_seed);
	bool good = key && fingerprint(key, out_fingerprint);
	dfg_EVP_PKEY_free(key);
	return good ? NULL : DFG_ERR(DFG_CONFIG, "OpenSSL cannot make a key of Ed25519");
}

struct dfg_err *dfg_tls_new(const uint8_t *key_seed, struct dfg_tls **out_tls)
{
	DFG_TRY(dfg_library_open(&dfg_crypto));
	DFG_TRY(dfg_library_open(&dfg_ssl));
	struct dfg_tls *tls = dfg_zeros(1, sizeof *tls);
	if (!tls)
		return dfg_no_memory("TLS");
	EVP_PKEY *key = make_key(key_seed);
	tls->context = dfg_SSL_CTX_new(dfg_TLS_server_method());
	bool good = key && tls->context && fill_context(tls, key, key_seed ? NULL : dfg_EVP_sha256());
	dfg_EVP_PKEY_free(key);
	if (!good) {
		dfg_tls_free(tls);
		return DFG_ERR(DFG_CONFIG, "OpenSSL cannot make a key for TLS 1.3");
	}
	*out_tls = tls;
	return NULL;
}

static struct dfg_err *use_files(struct dfg_tls *tls, const char *certificate, const char *key)
{
	SSL_CTX *context = tls->context;
	if (!context || !dfg_SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL))
		return DFG_ERR(DFG_CONFIG, "OpenSSL cannot serve TLS 1.2");
	dfg_SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	if (access(certificate, R_OK) || access(key, R_OK))
		return DFG_ERR(
			DFG_NO_INPUT, "cannot read %s: %s", access(certificate, R_OK) ? certificate : key, strerror(errno));
	if (dfg_SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
		return DFG_ERR(DFG_CONFIG, "%s is not a certificate in PEM", certificate);
	if (dfg_SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		return DFG_ERR(DFG_CONFIG, "%s is not the key of %s in PEM, without a password", key, certificate);
	if (dfg_SSL_CTX_check_private_key(context) != 1)
		return DFG_ERR(DFG_CONFIG, "%s is not the key of %s", key, certificate);
	dfg_SSL_CTX_set_alpn_select_cb(context, choose_any, NULL);
	return NULL;
}

struct dfg_err *dfg_tls_open(const char *certificate, const char *key, struct dfg_tls **out_tls)
{
	DFG_TRY(dfg_library_open(&dfg_crypto));
	DFG_TRY(dfg_library_open(&dfg_ssl));
	struct dfg_tls *tls = dfg_zeros(1, sizeof *tls);
	if (!tls)
		return dfg_no_memory("TLS");
	tls->context = dfg_SSL_CTX_new(dfg_TLS_server_method());
	dfg_ERR_clear_error();
	struct dfg_err *err = use_files(tls, certificate, key);
	if (err)
		dfg_tls_free(tls);
	else
		*out_tls = tls;
	return err;
}

void dfg_tls_free(struct dfg_tls *tls)
{
	if (!tls)
		return;
	dfg_SSL_CTX_free(tls->context);
	dfg_free(tls);
}

const char *dfg_tls_fingerprint(const struct dfg_tls *tls)
{
	return tls->fingerprint;
}

struct dfg_err *dfg_tls_session_new(struct dfg_tls *tls, struct dfg_tls_session **out_session)
{
	struct dfg_tls_session *session = dfg_zeros(1, sizeof *session);
	if (!session)
		return dfg_no_memory("TLS");
	session->ssl = dfg_SSL_new(tls->context);
	session->in = dfg_BIO_new(dfg_BIO_s_mem());
	session->out = dfg_BIO_new(dfg_BIO_s_mem());
	if (!session->ssl || !session->in || !session->out) {
		dfg_BIO_free(session->in);
		dfg_BIO_free(session->out);
		session->in = session->out = NULL;
		dfg_tls_session_free(session);
		return dfg_no_memory("TLS");
	}
	/* An empty memory BIO is not the end of file: more bytes will come. */
	dfg_BIO_ctrl(session->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
	dfg_BIO_ctrl(session->out, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
	dfg_SSL_set_bio(session->ssl, session->in, session->out);
	dfg_SSL_set_accept_state(session->ssl);
	*out_session = session;
	return NULL;
}

void dfg_tls_session_free(struct dfg_tls_session *session)
{
	if (!session)
		return;
	dfg_SSL_free(session->ssl);
	dfg_free(session);
}

/* Whether the last call failed only because bytes are missing. */
static bool only_wants(struct dfg_tls_session *session, int result)
{
	int error = dfg_SSL_get_error(session->ssl, result);
	return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

bool dfg_tls_feed(struct dfg_tls_session *session, const uint8_t *bytes, size_t count)
{
	dfg_ERR_clear_error();
	if (dfg_BIO_write(session->in, bytes, (int)count) != (int)count)
		return false;
	if (session->up)
		return true;
	int result = dfg_SSL_do_handshake(session->ssl);
	session->up = result == 1;
	return session->up || only_wants(session, result);
}

bool dfg_tls_is_up(const struct dfg_tls_session *session)
{
	return session->up;
}

int dfg_tls_read(struct dfg_tls_session *session, uint8_t *to, size_t capacity)
{
	dfg_ERR_clear_error();
	int count = dfg_SSL_read(session->ssl, to, (int)capacity);
	return count > 0 ? count : only_wants(session, count) ? 0 : -1;
}

bool dfg_tls_write(struct dfg_tls_session *session, const uint8_t *bytes, size_t count)
{
	dfg_ERR_clear_error();
	return !count || dfg_SSL_write(session->ssl, bytes, (int)count) == (int)count;
}

size_t dfg_tls_drain(struct dfg_tls_session *session, uint8_t *to, size_t capacity)
{
	int count = dfg_BIO_read(session->out, to, (int)capacity);
	return count > 0 ? (size_t)count : 0;
}
